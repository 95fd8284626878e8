{# Measures of how a model answers, beside the label: any change of them is told as one, and none as better or worse. #}
{% macro answer_measures() -%}
    ('answer_length', 'completion_tokens', 'token_limit_rate', 'refusal_rate')
{%- endmacro %}

{# The measure of the nights that is the accuracy on the samples of one gold label. #}
{% macro class_measure(label) -%} 'accuracy of ' || {{ label }} {%- endmacro %}

{# Whether a measure is one of these. #}
{% macro is_of_class(measure) -%} starts_with({{ measure }}, 'accuracy of ') {%- endmacro %}

{# The least difference that matters of a measure, as `udfs.nights.states` has it for logarithms and for single gold labels. #}
{% macro least_effect(measure, min_effect) -%}
    case
        when {{ measure }} in ('answer_length', 'completion_tokens') then ln(1.1)
        when {{ is_of_class(measure) }} then greatest({{ min_effect }}, 0.05)
        else {{ min_effect }}
    end
{%- endmacro %}
