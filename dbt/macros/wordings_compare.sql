{# Whether figures of a measure that were taken under this least and this most number of wordings may be ranked. Sensitivity grows
   with that number, the corrected one below 12 of them. #}
{% macro wordings_compare(least, most) -%}
    (
        measure not in ('sensitivity', 'sensitivity_corrected')
        or {{ least }} = {{ most }}
        or (measure = 'sensitivity_corrected' and {{ least }} >= 12)
    )
{%- endmacro %}
