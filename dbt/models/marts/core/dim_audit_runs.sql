-- One row per run.
with runs as {{ of_this_build('stg_audit_runs') }},

final as (
    select
        *,
        {{ measure_version() }}
    from runs
)

select * from final
