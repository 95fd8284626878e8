{# dbt-duckdb's own incremental table, but for a plain one whose build says `marts_stand`: this very project made it, with the
   columns and the contract that it has, so only the rows of this build's runs are replaced, in one statement. #}
{% materialization incremental, adapter='duckdb' %}
    {%- set existing = load_cached_relation(this) -%}
    {%- if existing is none or existing.is_view or should_full_refresh() or not var('marts_stand', false) or not is_plain() -%}
        {{ return(dbt.materialization_incremental_duckdb()) }}
    {%- endif -%}
    {%- set key = config.get('unique_key') -%}
    {%- set fresh = adapter.quote(this.identifier ~ '__fresh') -%}
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
