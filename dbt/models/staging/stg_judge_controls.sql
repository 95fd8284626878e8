with source as (
    select * from {{ source('raw', 'judge_controls').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        control_id,
        task_id,
        sample_id,
        kind,
        completion,
        is_match
    from source
)

select * from renamed
