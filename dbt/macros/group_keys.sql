{# The keys of the group that a `try_` function is given, as JSON, to report its failure. `is_row` says that a row is a group
   already, and nothing is aggregated. #}
{% macro group_keys(of=none, keys=['audit_run_id', 'model_id', 'task_id', 'strategy'], is_row=false) -%}
    {%- set one = '' if is_row else 'any_value' -%}
    to_json({{ '{' }}{% for key in keys %}'{{ key }}': {{ one }}({{ of ~ '.' if of }}{{ key }}){{ ', ' if not loop.last }}{% endfor %}{{ '}' }})::varchar
{%- endmacro %}
