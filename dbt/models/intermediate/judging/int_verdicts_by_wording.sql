-- One row per run, rater, wording of its rubric, repetition and answer or control that was ruled on: the verdict that counts.
-- A judge's is its settled reply under the card it has now; answers that say the same to the same question are one.
with settled as (
    select * from {{ ref('stg_verdicts') }}
    where is_settled and {{ in_this_build() }}
),

judges as (
    select * from {{ ref('stg_judges') }}
    where {{ in_this_build() }}
),

rubrics as (
    select * from {{ ref('int_judge_rubrics') }}
    where {{ in_this_build() }}
),

predictions as (
    select * from {{ ref('int_predictions_labelled') }}
    where {{ in_this_build() }}
),

variants as (
    select * from {{ ref('stg_prompt_variants') }}
    where {{ in_this_build() }}
),

replies as (
    select
        settled.*,
        read_verdict(settled.completion, json_extract_string(judges.card, '$.reply')) as reply
    from settled
    left join judges using (audit_run_id, judge_id)
),

verdicts as (
    select
        replies.audit_run_id,
        replies.judge_id,
        coalesce(rubrics.wording_index, 0) as wording_index,
        replies.prediction_id,
        replies.control_id,
        replies.repetition,
        replies.landed_at,
        replies.error,
        judges.task_ids,
        if(judges.judge_id is null, replies.is_match, replies.reply.is_match) as is_match,
        if(judges.judge_id is null, replies.reason, replies.reply.reason) as reason
    from replies
    left join judges using (audit_run_id, judge_id)
    left join rubrics
        on
            replies.audit_run_id = rubrics.audit_run_id
            and replies.judge_id = rubrics.judge_id
            and replies.judge_key = rubrics.wording_key
    where
        (replies.judge_key is not distinct from judges.judge_key or rubrics.wording_index is not null)
        and (judges.judge_id is null or replies.repetition <= judges.repetitions)
),

final as (
    select
        verdicts.audit_run_id,
        if(starts_with(verdicts.judge_id, 'person:'), verdicts.judge_id, 'judge:' || verdicts.judge_id) as rater,
        verdicts.wording_index,
        verdicts.repetition,
        verdicts.prediction_id,
        verdicts.control_id,
        predictions.task_id,
        predictions.sample_id,
        predictions.completion_md5,
        {{ options_as_shown('variants.reader', 'predictions.option_order') }} as reader,
        verdicts.is_match,
        verdicts.reason,
        case
            when verdicts.is_match is not null then null
            when verdicts.error is not null then 'error of the judge'
            else 'unreadable verdict'
        end as unscored_because
    from verdicts
    left join predictions using (audit_run_id, prediction_id)
    left join variants using (audit_run_id, prompt_variant_id)
    where
        predictions.task_id is null
        or verdicts.task_ids is null
        or list_contains(verdicts.task_ids, predictions.task_id)
    -- a person may rule again: the last word counts
    qualify
        row_number() over (
            partition by
                verdicts.audit_run_id,
                verdicts.judge_id,
                verdicts.wording_index,
                verdicts.repetition,
                verdicts.control_id,
                predictions.task_id,
                predictions.sample_id,
                predictions.completion_md5,
                variants.reader,
                predictions.option_order
            order by verdicts.landed_at desc, verdicts.prediction_id asc
        ) = 1
)

select * from final
