{# A model's card as what reaches the model, or where it is reached: no limit and no price changes an answer. #}
{% macro as_sent_to_the_model(card) -%}
    json_merge_patch(
        {{ card }}, '{"limits": null, "price": null, "api_key_env": null, "batch": null, "grid": null}'
    )::varchar
{%- endmacro %}
