{# the rules that look at an answer's text or at log-likelihoods, not at its label #}
{% macro text_rules() -%}
    [
        'token_f1', 'math_equal', 'math_boxed', 'exact', 'contains', 'regex', 'number',
        'option_loglikelihood', 'option_loglikelihood_per_token', 'option_loglikelihood_per_character'
    ]
{%- endmacro %}

{# those of them that say right or wrong of an open answer by a reference, and no score between #}
{% macro plain_rules() -%}
    ['exact', 'contains', 'regex', 'number']
{%- endmacro %}
