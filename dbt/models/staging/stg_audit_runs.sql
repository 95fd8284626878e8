with source as (
    select * from {{ source('raw', 'audit_runs').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        audit_id,
        origin,
        state,
        started_at,
        finished_at,
        fingerprint,
        plan_fingerprint,
        card,
        format_limits,
        seed,
        n_resamples,
        code_version,
        code_commit,
        is_code_dirty,
        library_versions,
        source,
        manifest,
        flow_run_id,
        run_index
    from source
)

select * from renamed
