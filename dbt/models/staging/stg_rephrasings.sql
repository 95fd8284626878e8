with source as (
    select * from {{ source('raw', 'rephrasings') }}
),

renamed as (
    select
        audit_run_id,
        rephrasing_id,
        task_id,
        model_id,
        paraphrase_temperature,
        prompt,
        completion,
        is_completion_escaped,
        prompt_tokens,
        completion_tokens,
        latency_ms,
        n_attempts,
        cost_usd,
        sampling,
        served_model,
        system_fingerprint,
        request_id,
        error,
        landed_at
    from source
)

select * from renamed
