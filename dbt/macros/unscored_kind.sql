{# What kind of reason keeps an answer from being scored, as `reason` of fct_scores words it; `scored` where there is none. #}
{% macro unscored_kind(reason) -%}
    case
        when {{ reason }} is null then 'scored'
        when {{ reason }} = 'error' then 'no_answer'
        when {{ reason }} in ('no gold label', 'no reference') then 'no_key'
        when {{ reason }} in ('error of the judge', 'not judged') then 'no_ruling'
        else 'not_read'
    end
{%- endmacro %}
