{# a state is one of those there are; NULL passes. dbt's own looks at every night again #}
{% test accepted_values(model, column_name, values, by='audit_run_id') %}
select {{ column_name }}
from {{ model }}
where
    {{ compared_in_this_build() if by == 'comparison_id' else in_this_build() }}
    and {{ column_name }} not in ('{{ values | join("', '") }}')
{% endtest %}
