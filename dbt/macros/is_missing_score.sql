{# Whether a score is missing: no answer, ruling or weights, or a rule that raised. What could not be read is there, unscored. #}
{% macro is_missing_score(unscored_kind) -%}
    coalesce({{ unscored_kind }} in ('no_answer', 'not_judged', 'not_weighed', 'judge_failed', 'not_derived'), false)
{%- endmacro %}
