{# Whether a group of the nights is a judge and not a model: the judge as judge:<card>, in the place of a strategy `anchors`. #}
{% macro is_judge(model_id='model_id', strategy='strategy') -%}
    (starts_with({{ model_id }}, 'judge:') and {{ strategy }} = 'anchors')
{%- endmacro %}

{# Whether a measure is of what a judge scored. #}
{% macro is_scored_by(measure, judge) -%}
    {{ measure }} in ('accuracy:' || {{ judge }}, 'accuracy_std:' || {{ judge }})
{%- endmacro %}

{# Kinds of controls that are anchors. #}
{% macro kinds_of_anchors() -%} ('right_in_words', 'wrong_in_words', 'ruled') {%- endmacro %}
