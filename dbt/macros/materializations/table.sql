{# A table of this build's runs, made in one statement in place of the one before. dbt-duckdb's own way makes a second table
   and renames both, in six statements; it is used where a contract is to be enforced. Hooks, grants and indexes are not looked at:
   no model has one. #}
{% materialization table, adapter='duckdb' %}
    {%- if config.get('contract').enforced -%}
        {{ return(dbt.materialization_table_duckdb()) }}
    {%- endif -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- if existing is not none and not existing.is_table -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- call statement('main') -%}
        create or replace table {{ target }} as (
            {{ compiled_code }}
        )
    {%- endcall -%}
    {%- do adapter.commit() -%}
    {{ return({'relations': [target]}) }}
{% endmaterialization %}
