{# The states of nights as earlier builds left them: what a model reads that the states of tonight are made of, where a `ref`
   would be a circle. None where there is no such table yet; fields that their memory did not have then are NULL. #}
{% macro night_states_before() -%}
    {%- set runs = ref('stg_audit_runs').include(database=false) -%}
    {%- set known = adapter.get_relation(model.database, 'marts', 'rpt_night_states') if execute -%}
    {%- if known -%}
        {%- set is_counted = adapter.get_columns_in_relation(known) | selectattr('name', 'equalto', 'n_tests') | list -%}
        {%- set contract = graph.nodes['model.promptaudit.rpt_night_states'].columns -%}
        select
            audit_run_id,
            audit_id,
            model_id,
            task_id,
            strategy,
            run_index,
            plan,
            night,
            {{ 'n_tests' if is_counted else '0' }} as n_tests,
            memory::{{ contract.memory.data_type }} as memory
        from {{ known }}
        inner join {{ runs }} using (audit_run_id, audit_id)
    {%- else -%}
        select
            null::varchar as audit_run_id,
            null::varchar as audit_id,
            null::varchar as model_id,
            null::varchar as task_id,
            null::varchar as strategy,
            null::bigint as run_index,
            null::varchar as plan,
            null::bigint as night,
            null::integer as n_tests,
            accepted_state(null, false) as memory
        where false
    {%- endif %}
{%- endmacro %}
