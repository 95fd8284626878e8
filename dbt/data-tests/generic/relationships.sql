{# what a row names is there in the same run. dbt's own looks at every night again, and knows no run #}
{% test relationships(model, column_name, to, field) %}
select children.{{ column_name }}
from {{ model }} as children
anti join {{ to }} as parents
    on children.audit_run_id = parents.audit_run_id and children.{{ column_name }} = parents.{{ field }}
where children.{{ column_name }} is not null and {{ in_this_build('children.audit_run_id') }}
{% endtest %}
