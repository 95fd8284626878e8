-- One row per prediction: what was said, what it was read as, what it cost.
with labelled as {{ of_this_build('int_predictions_labelled') }},

landed as {{ of_this_build('stg_predictions') }},

final as (
    select
        labelled.audit_run_id,
        labelled.prediction_id,
        labelled.model_id,
        labelled.task_id,
        labelled.strategy,
        labelled.prompt_variant_id,
        labelled.paraphrase_temperature,
        labelled.variant_index,
        labelled.is_original,
        labelled.sample_id,
        labelled.repetition,
        landed.completion,
        landed.is_completion_escaped,
        labelled.label,
        labelled.gold_label,
        labelled.answer_status,
        labelled.is_correct,
        -- as the server kept it apart, else as the completion shows it before the answer
        coalesce(
            landed.reasoning,
            case when regexp_matches(landed.completion, '[<\[◁]|analysis') then shown_reasoning(landed.completion) end
        ) as reasoning,
        landed.finish_reason,
        landed.prompt_tokens,
        landed.completion_tokens,
        labelled.mean_token_logprob,
        landed.cost_usd,
        landed.latency_ms,
        landed.n_attempts,
        landed.sampling,
        landed.served_model,
        landed.system_fingerprint,
        landed.request_id,
        landed.error,
        landed.landed_at,
        {{ measure_version() }}
    from labelled
    inner join landed using (audit_run_id, prediction_id)
)

select * from final
