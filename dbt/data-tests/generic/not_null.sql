{# a value is there. dbt's own looks at every night again #}
{% test not_null(model, column_name, by='audit_run_id') %}
select {{ column_name }}
from {{ model }}
where {{ column_name }} is null and {{ compared_in_this_build() if by == 'comparison_id' else in_this_build() }}
{% endtest %}
