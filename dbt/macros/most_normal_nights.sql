{# How many normal nights tonight is held against at most, as `udfs.nights.states` has it; as many nights of an alarm may
   become normal when somebody accepts it. #}
{% macro most_normal_nights() -%} 28 {%- endmacro %}

{# How many nights the longest window spans. #}
{% macro longest_window() -%} 16 {%- endmacro %}
