-- One row per complete run, with its place among the nights of its audit; a trial, which is of chosen samples, has none.
{{ config(materialized='view') }}
with runs as (
    select
        audit_run_id,
        audit_id,
        origin,
        started_at,
        finished_at,
        run_index,
        origin != 'trial' as is_night
    from {{ ref('dim_audit_runs').include(database=false) }}
    where state = 'complete'
),

final as (
    select
        audit_run_id,
        audit_id,
        origin,
        started_at,
        finished_at,
        run_index,
        if(is_night, row_number() over nights, null) as night_number,
        if(is_night, lag(audit_run_id) over nights, null) as previous_run_id,
        is_night and lead(audit_run_id) over nights is null as is_newest
    from runs
    window nights as (partition by audit_id, is_night order by run_index)
)

select * from final
