{# schemas carry the layer's own name: staging, intermediate, marts #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
