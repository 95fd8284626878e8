{# What kept an answer from a score, as a state; NULL where it is scored. No other place reads the words of `reason`. #}
{% macro unscored_kind(reason) -%}
    case
        when {{ reason }} is null then null
        when {{ reason }} = 'error' then 'no_answer'
        when {{ reason }} in ('no gold label', 'no reference') then 'no_key'
        when {{ reason }} in ('not judged', 'grade without a scale') then 'not_judged'
        when {{ reason }} = 'error of the judge' then 'judge_failed'
        when {{ reason }} = 'no log-likelihoods' then 'not_weighed'
        when {{ reason }} = 'not derived' then 'not_derived'
        when {{ reason }} in ('timeout', 'too long', 'too much memory') then 'over_limit'
        else 'not_read'
    end
{%- endmacro %}
