-- One row per run, judge of pairs, model, prompt variant and sample: whether its first answer is preferred to that of the model
-- it is held against, to the same prompt: 1, 0, or .5 for a tie. A judge is asked in both orders; where the order decides, it is
-- a tie. Equal answers are one without a judge, and a blank one loses; NULL where a reply is missing or was never readable.
with judges as (
    select
        audit_run_id,
        'judge:' || judge_id as scoring_method,
        card ->> '$.against' as against,
        json_extract(card, '$.tasks')::varchar[] as task_ids
    from {{ ref('stg_judges') }}
    where (card ->> '$.against') is not null and {{ in_this_build() }}
),

labelled as {{ of_this_build('int_predictions_labelled', where="repetition = 1 and answer_status != 'error'") }},

landed as {{ of_this_build('stg_predictions') }},

answers as (
    select
        labelled.*,
        not coalesce(regexp_matches(landed.completion, '\S'), false) as is_blank
    from labelled
    inner join landed using (audit_run_id, prediction_id)
),

paired as (
    select
        own.audit_run_id,
        judges.scoring_method,
        judges.against,
        own.model_id,
        own.task_id,
        own.strategy,
        own.prompt_variant_id,
        own.sample_id,
        own.sample_index,
        own.completion_md5,
        other.completion_md5 as other_md5,
        own.is_blank,
        other.is_blank as is_other_blank
    from judges
    inner join answers as other on judges.audit_run_id = other.audit_run_id and judges.against = other.model_id
    inner join answers as own
        on
            other.audit_run_id = own.audit_run_id
            and other.prompt_variant_id = own.prompt_variant_id
            and other.sample_id = own.sample_id
            and other.model_id != own.model_id
    where len(coalesce(judges.task_ids, [])) = 0 or list_contains(judges.task_ids, own.task_id)
),

verdicts as (
    select * from {{ ref('fct_verdicts') }}
    where other_prediction_id is not null and is_settled and is_current and {{ in_this_build() }}
),

ruled as (
    select
        verdicts.audit_run_id,
        verdicts.rater as scoring_method,
        own.task_id,
        own.sample_id,
        own.completion_md5,
        other.completion_md5 as other_md5,
        max(verdicts.grade) filter (verdicts.repetition = 1) as of_first_order,
        max(verdicts.grade) filter (verdicts.repetition = 2) as of_second_order
    from verdicts
    inner join answers as own
        on verdicts.audit_run_id = own.audit_run_id and verdicts.prediction_id = own.prediction_id
    inner join answers as other
        on verdicts.audit_run_id = other.audit_run_id and verdicts.other_prediction_id = other.prediction_id
    group by all
),

final as (
    select
        paired.audit_run_id,
        paired.scoring_method,
        paired.against,
        paired.model_id,
        paired.task_id,
        paired.strategy,
        paired.prompt_variant_id,
        paired.sample_index,
        case
            when paired.completion_md5 = paired.other_md5 or (paired.is_blank and paired.is_other_blank) then 0.5
            when paired.is_blank or paired.is_other_blank then paired.is_other_blank::integer::double
            when ruled.of_first_order is null or ruled.of_second_order is null then null
            when ruled.of_first_order = 'first' and ruled.of_second_order = 'second' then 1.0
            when ruled.of_first_order = 'second' and ruled.of_second_order = 'first' then 0.0
            else 0.5
        end as value,
        coalesce(
            ruled.of_first_order = ruled.of_second_order and ruled.of_first_order in ('first', 'second'), false
        ) as is_by_order
    from paired
    left join ruled using (audit_run_id, scoring_method, task_id, sample_id, completion_md5, other_md5)
)

select * from final
