with source as (
    select * from {{ source('raw', 'predictions').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        prediction_id,
        model_id,
        task_id,
        prompt_variant_id,
        sample_id,
        repetition,
        completion,
        is_completion_escaped,
        reasoning,
        finish_reason,
        is_refused as is_flagged_refused,
        token_logprobs,
        option_loglikelihoods,
        option_order,
        prompt_tokens,
        completion_tokens,
        latency_ms,
        n_attempts,
        cost_usd,
        sampling,
        served_model,
        system_fingerprint,
        request_id,
        request_sha256,
        error,
        landed_at
    from source
)

select * from renamed
