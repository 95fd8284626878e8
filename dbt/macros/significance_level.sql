{# The level at which a difference is more than chance. #}
{% macro significance_level() -%} 0.05 {%- endmacro %}

{# The level for answers that changed between two nights of one audit, of which a month has 29 pairs a model. #}
{% macro significance_level_of_nights() -%} 0.01 {%- endmacro %}
