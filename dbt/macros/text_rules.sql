{# the rules that look at an answer's text or at log-likelihoods, not at its label #}
{% macro text_rules() -%}
    [
        'token_f1', 'math_equal', 'math_boxed',
        'option_loglikelihood', 'option_loglikelihood_per_token', 'option_loglikelihood_per_character'
    ]
{%- endmacro %}
