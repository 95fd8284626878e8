-- One row per reply of a judge or ruling of a person, on an answer, a control or a rewording; unreadable and replaced ones too.
with landed as {{ of_this_build('stg_verdicts') }},

judges as {{ of_this_build('stg_judges') }},

predictions as {{ of_this_build('stg_predictions') }},

controls as {{ of_this_build('stg_judge_controls') }},

variants as {{ of_this_build('stg_prompt_variants') }},

verdicts as (
    select
        landed.*,
        read_verdict(landed.completion, json_extract_string(judges.card, '$.reply')) as reply,
        -- what a program that recorded the answers gave as a grade, with its scale
        if(
            judges.judge_id is null and landed.judge_key is null and json_valid(landed.completion),
            landed.completion::json,
            null
        ) as graded
    from landed
    left join judges using (audit_run_id, judge_id)
),

final as (
    select
        verdicts.audit_run_id,
        verdicts.verdict_id,
        verdicts.prediction_id,
        verdicts.other_prediction_id,
        verdicts.control_id,
        verdicts.prompt_variant_id,
        coalesce(predictions.task_id, controls.task_id, variants.task_id) as task_id,
        coalesce(predictions.sample_id, controls.sample_id) as sample_id,
        if(starts_with(verdicts.judge_id, 'person:'), verdicts.judge_id, 'judge:' || verdicts.judge_id) as rater,
        verdicts.repetition,
        verdicts.ask,
        verdicts.is_settled,
        (verdicts.judge_key is not distinct from judges.judge_key) as is_current,
        if(judges.judge_id is null, verdicts.is_match, verdicts.reply.is_match) as is_match,
        coalesce(verdicts.reply.grade, json_extract_string(verdicts.graded, '$.score')) as grade,
        case
            when json_extract(verdicts.graded, '$.scale')::double[] = [0, 1]
                then json_extract(verdicts.graded, '$.score')::double
            else json_extract(verdicts.graded, '$.share')::double
        end as score,
        if(judges.judge_id is null, verdicts.reason, verdicts.reply.reason) as reason,
        verdicts.completion,
        verdicts.finish_reason,
        verdicts.prompt_tokens,
        verdicts.completion_tokens,
        verdicts.latency_ms,
        verdicts.n_attempts,
        verdicts.cost_usd,
        verdicts.sampling,
        verdicts.served_model,
        verdicts.system_fingerprint,
        verdicts.request_id,
        verdicts.request_sha256,
        verdicts.source,
        verdicts.error,
        verdicts.landed_at,
        {{ measure_version() }}
    from verdicts
    left join judges using (audit_run_id, judge_id)
    left join predictions using (audit_run_id, prediction_id)
    left join controls using (audit_run_id, control_id)
    left join variants
        on verdicts.audit_run_id = variants.audit_run_id and verdicts.prompt_variant_id = variants.prompt_variant_id
)

select * from final
