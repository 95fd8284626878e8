{# The smallest difference between two runs that is called one, where an audit's card names none. #}
{% macro smallest_effect() -%} 0.02 {%- endmacro %}
