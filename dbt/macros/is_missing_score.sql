{# Whether a score is missing: no answer, no ruling, no weights, or a rule that raised. What could not be read is there and unscored. #}
{% macro is_missing_score(unscored_kind) -%}
    coalesce({{ unscored_kind }} in ('no_answer', 'not_judged', 'not_weighed', 'judge_failed', 'not_derived'), false)
{%- endmacro %}
