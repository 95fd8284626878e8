with source as (
    select * from {{ source('raw', 'looks') }}
),

renamed as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        look,
        subject,
        n_samples,
        decision,
        figure,
        low,
        high,
        is_stopped,
        looked_at
    from source
)

select * from renamed
