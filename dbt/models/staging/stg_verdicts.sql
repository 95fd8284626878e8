with source as (
    select * from {{ source('raw', 'verdicts').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        verdict_id,
        prediction_id,
        other_prediction_id,
        control_id,
        prompt_variant_id,
        judge_id,
        judge_key,
        repetition,
        ask,
        is_settled,
        is_match,
        reason,
        completion,
        is_completion_escaped,
        finish_reason,
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
        source,
        error,
        landed_at
    from source
)

select * from renamed
