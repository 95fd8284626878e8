with source as (
    select * from {{ source('raw', 'verdicts') }}
),

renamed as (
    select
        audit_run_id,
        verdict_id,
        prediction_id,
        judge_id,
        repetition,
        is_match,
        reason,
        completion,
        error,
        landed_at
    from source
)

select * from renamed
