-- One row per run.
with runs as (
    select * from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

final as (
    select
        *,
        {{ measure_version() }}
    from runs
)

select * from final
