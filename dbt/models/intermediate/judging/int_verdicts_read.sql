-- One row per run, rater, repetition and answer or control that was ruled on: the verdict that counts.
-- A judge's is its settled reply under the card it has now; answers that say the same to the same question are one.
with verdicts as (
    select * from {{ ref('fct_verdicts') }}
    where
        is_settled and is_current and prompt_variant_id is null and other_prediction_id is null
        and {{ in_this_build() }}
),

judges as (
    select
        *,
        'judge:' || judge_id as rater
    from {{ ref('stg_judges') }}
    where {{ in_this_build() }}
),

predictions as {{ of_this_build('int_predictions_labelled') }},

variants as {{ of_this_build('stg_prompt_variants') }},

final as (
    select
        verdicts.audit_run_id,
        verdicts.rater,
        verdicts.repetition,
        verdicts.prediction_id,
        verdicts.control_id,
        predictions.task_id,
        predictions.sample_id,
        predictions.completion_md5,
        {{ options_as_shown('variants.reader', 'predictions.option_order') }} as reader,
        verdicts.is_match,
        verdicts.score,
        verdicts.reason,
        case
            when verdicts.is_match is not null or verdicts.score is not null then null
            when judges.judge_id is null and verdicts.grade is not null then 'grade without a scale'
            when verdicts.error is not null then 'error of the judge'
            else 'unreadable verdict'
        end as unscored_because
    from verdicts
    left join judges using (audit_run_id, rater)
    left join predictions using (audit_run_id, prediction_id)
    left join variants
        on predictions.audit_run_id = variants.audit_run_id and predictions.prompt_variant_id = variants.prompt_variant_id
    where
        (judges.judge_id is null or verdicts.repetition <= judges.repetitions)
        and coalesce(list_contains(judges.task_ids, predictions.task_id), true)
    -- a person may rule again: the last word counts
    qualify
        row_number() over (
            partition by
                verdicts.audit_run_id,
                verdicts.rater,
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
