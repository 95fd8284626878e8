{# The key of an answer: what was said to a sample under one way of naming its options, however many predictions say it. #}
{% macro answer_key(sample_id, reader, completion_md5) -%}
    md5(concat_ws(chr(0), {{ sample_id }}, coalesce({{ reader }}, ''), {{ completion_md5 }}))
{%- endmacro %}
