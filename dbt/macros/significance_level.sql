{# The level at which a difference is more than chance. #}
{% macro significance_level() -%} 0.05 {%- endmacro %}

{# The level at which a third night confirms a difference, and that of changed answers of two nights without a third. #}
{% macro significance_level_of_nights() -%} 0.01 {%- endmacro %}
