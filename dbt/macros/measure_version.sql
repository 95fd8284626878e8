{# which definitions a row was computed under; grows when a measure's definition changes #}
{% macro measure_version() -%}
    {{ var('measure_version') }}::integer as measure_version
{%- endmacro %}
