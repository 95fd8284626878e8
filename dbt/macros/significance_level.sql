{# The level at which a difference is more than chance. #}
{% macro significance_level() -%} 0.05 {%- endmacro %}
