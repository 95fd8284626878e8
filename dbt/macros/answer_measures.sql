{# Measures of how a model answers, beside the label: any change of them is told as one, and none as better or worse. #}
{% macro answer_measures() -%}
    ('answer_length', 'completion_tokens', 'token_limit_rate', 'refusal_rate')
{%- endmacro %}

{# The least difference that matters of a measure that is a logarithm, as `udfs.nights.states` has it; NULL of any other. #}
{% macro least_effect(measure) -%}
    if({{ measure }} in ('answer_length', 'completion_tokens'), ln(1.1), null)
{%- endmacro %}
