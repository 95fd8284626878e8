{# 1 where more of a measure is worse, -1 where less is, 0 where any change of it is reported as one. #}
{% macro worse_sign(measure) -%}
    case
        when {{ measure }} in ('label_churn', 'judge_match_rate') or {{ measure }} in {{ answer_measures() }} then 0
        when
            split_part({{ measure }}, ':', 1)
            in ('sensitivity', 'invalid_rate', 'accuracy_std', 'cost_usd', 'latency_ms')
            or {{ is_of_wording(measure) }}
            then 1
        else -1
    end
{%- endmacro %}

{# Whether a measure is a mean of what answers are, so that noise moves it both ways; sensitivity, consistency, PSS, spreads and
   lengths are none: noise itself moves them one way. #}
{% macro is_rate(measure) -%}
    (
        split_part({{ measure }}, ':', 1) in (
            'micro_f1', 'accuracy', 'invalid_rate', 'refusal_rate', 'token_limit_rate', 'judge_agreement', 'judge_match_rate'
        )
        or {{ is_of_wording(measure) }}
    )
{%- endmacro %}
