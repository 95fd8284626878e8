{# Measures of how a model answers, beside the label: any change of them is reported as one, and none as better or worse. #}
{% macro answer_measures() -%}
    ('answer_length', 'completion_tokens', 'token_limit_rate', 'refusal_rate')
{%- endmacro %}

{# The measure of the nights that is the accuracy on the samples of one gold label. #}
{% macro class_measure(label) -%} 'accuracy of ' || {{ label }} {%- endmacro %}

{# Whether a measure is one of these. #}
{% macro is_of_class(measure) -%} starts_with({{ measure }}, 'accuracy of ') {%- endmacro %}

{# The measure of the nights that is how often answers to one wording give no label; `variants` has the wording. #}
{% macro wording_measure(variants) -%}
    'invalid_rate of ' || case
        when {{ variants }}.is_original then 'the original wording'
        else
            if({{ variants }}.variation in ('wording', 'template'), 'wording ', 'variant ') || {{ variants }}.variant_index
            || coalesce(printf(' at %g', {{ variants }}.paraphrase_temperature), '')
    end
{%- endmacro %}

{# Whether a measure is one of these. #}
{% macro is_of_wording(measure) -%} starts_with({{ measure }}, 'invalid_rate of ') {%- endmacro %}

{# The least difference that matters of a measure, as `udfs.nights.states` has it for logarithms, gold labels and wordings. #}
{% macro least_effect(measure, min_effect) -%}
    case
        when {{ measure }} in ('answer_length', 'completion_tokens') then ln(1.1)
        when {{ is_of_class(measure) }} or {{ is_of_wording(measure) }} then greatest({{ min_effect }}, 0.05)
        else {{ min_effect }}
    end
{%- endmacro %}
