{# the rules that look at an answer's label alone: accuracy by either of them is micro-F1 #}
{% macro label_rules() -%}
    ['label_match', 'option_letter']
{%- endmacro %}
