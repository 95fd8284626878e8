{# Whether a scoring method is a rule: no judge or panel, and not the majority of the persons who ruled. #}
{% macro is_rule(column) -%}
    ({{ column }} != 'people' and not starts_with({{ column }}, 'judge:'))
{%- endmacro %}
