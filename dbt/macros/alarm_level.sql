{# The greatest q of an alarm of the nights, as `promptaudit.udfs.nights.states` has it. #}
{% macro alarm_level() -%} 0.005 {%- endmacro %}

{# The greatest q of what is said of a night without an alarm. #}
{% macro suspect_level() -%} 0.05 {%- endmacro %}
