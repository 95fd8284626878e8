{# which version of a scoring method made a score: one more with each release in which its module in udfs scores otherwise #}
{% macro scoring_version(column) -%}
    {%- set versions = {
        'label_match': 1,
        'option_letter': 1,
        'option_loglikelihood': 1,
        'option_loglikelihood_per_token': 1,
        'option_loglikelihood_per_character': 1,
        'token_f1': 1,
        'math_equal': 1,
        'math_boxed': 1,
        'exact': 1,
        'contains': 1,
        'regex': 1,
        'number': 1,
        'field': 1,
        'all_fields': 1,
        'judge': 1,
        'people': 1,
    } -%}
    case split_part({{ column }}, ':', 1)
    {%- for method, version in versions.items() %}
        when '{{ method }}' then {{ version }}
    {%- endfor %}
    end::integer as scoring_version
{%- endmacro %}
