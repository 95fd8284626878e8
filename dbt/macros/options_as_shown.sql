{#- How an answer's options were shown: by which signs, and in which order where it is not the data's; NULL without options. -#}
{% macro options_as_shown(reader, option_order) -%}
    {{ reader }} || coalesce(' ' || {{ option_order }}::varchar, '')
{%- endmacro %}
