{# Whether a task of a kind has labels: open answers and extraction have none, so none of the measures of labels. #}
{% macro has_labels(kind) -%}
    coalesce({{ kind }} not in ('open_ended', 'extraction'), true)
{%- endmacro %}
