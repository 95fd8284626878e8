with source as (
    select * from {{ source('raw', 'alarms') }}
),

renamed as (
    select
        audit_run_id,
        alarm_id,
        audit_id,
        event,
        kind,
        model_id,
        task_id,
        strategy,
        measure,
        base_run_id,
        summary,
        reason,
        recorded_at
    from source
)

select * from renamed
