{# The smallest difference that is called one: what an audit's card says, .02 where it says nothing. #}
{% macro smallest_effect(card='card') -%} coalesce(({{ card }} ->> '$.audits.*.min_effect')[1]::double, 0.02) {%- endmacro %}
