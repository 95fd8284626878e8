{# A hook of a mart with a struct: fields that a later version of the project added join those of the table that stands, since an
   `append_new_columns` of dbt looks at whole columns. #}
{% macro widen_structs() -%}
    {%- if is_incremental() -%}
        {%- for column in adapter.get_columns_in_relation(this) -%}
            {%- set type = model.columns.get(column.name, {}).get('data_type', '') -%}
            {%- if type.startswith('struct') and type != column.dtype | lower %}
                alter table {{ this }} alter {{ column.name }} type {{ type }};
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
