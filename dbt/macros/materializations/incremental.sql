{# Replaces the rows of this build's runs, or comparisons, in a table that this very project made: one statement.
   Everywhere else, where the table is new or `marts_stand` is not said, dbt-duckdb's own way holds: it enforces the contract and
   adds new columns; a struct that has new fields is widened first. All of it follows from the project alone, so it holds for every
   later build by the same project. #}
{% materialization incremental, adapter='duckdb' %}
    {%- set existing = load_cached_relation(this) -%}
    {%- if existing is none or existing.is_view or should_full_refresh() or not var('marts_stand', false) -%}
        {%- set standing = adapter.get_columns_in_relation(existing) if existing is not none and existing.is_table else [] -%}
        {%- for column in standing -%}
            {%- set wanted = model.columns.get(column.name, {}).get('data_type', '') -%}
            {%- if wanted.startswith('struct') and wanted != column.dtype | lower -%}
                {%- do run_query('alter table ' ~ existing ~ ' alter ' ~ column.name ~ ' type ' ~ wanted) -%}
            {%- endif -%}
        {%- endfor -%}
        {{ return(dbt.materialization_incremental_duckdb()) }}
    {%- endif -%}
    {%- set key = config.get('unique_key') -%}
    {%- set fresh = adapter.quote(this.identifier ~ '__fresh') -%}
    {{ run_hooks(pre_hooks) }}
    {%- call statement('main') -%}
        create or replace temporary table {{ fresh }} as (
            {{ compiled_code }}
        );
        delete from {{ this }} where {{ key }} in (select distinct {{ key }} from {{ fresh }});
        insert into {{ this }} by name select * from {{ fresh }};
        drop table {{ fresh }};
    {%- endcall -%}
    {%- do adapter.commit() -%}
    {{ return({'relations': [existing]}) }}
{% endmaterialization %}
