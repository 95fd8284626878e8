{# The sensitivity below which consistency is not read: answers that hardly vary are alike within a class and between classes
   (Errica et al. 2025). #}
{% macro least_readable_sensitivity() -%}
    0.05
{%- endmacro %}
