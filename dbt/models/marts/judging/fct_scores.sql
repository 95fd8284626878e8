-- One row per prediction and scoring method: right, wrong, or unscored with a reason.
with labelled as (
    select
        labelled.*,
        samples.has_key,
        tasks.scoring_methods,
        variants.reader
    from {{ ref('int_predictions_labelled') }} as labelled
    inner join {{ ref('stg_tasks') }} as tasks using (audit_run_id, task_id)
    inner join {{ ref('stg_samples') }} as samples using (audit_run_id, task_id, sample_id)
    inner join {{ ref('stg_prompt_variants') }} as variants
        on labelled.audit_run_id = variants.audit_run_id and labelled.prompt_variant_id = variants.prompt_variant_id
    where {{ in_this_build('labelled.audit_run_id') }}
),

by_label as (
    select
        prediction_id,
        audit_run_id,
        unnest(list_intersect(scoring_methods, ['label_match', 'option_letter'])) as scoring_method,
        is_correct::integer::double as score,
        is_correct,
        case
            when answer_status != 'valid' then coalesce(unread_because, answer_status)
            when gold_label is null then 'no gold label'
        end as reason
    from labelled
),

raters as (
    select distinct
        audit_run_id,
        rater
    from {{ ref('int_verdicts_counted') }}
    where starts_with(rater, 'judge:') and {{ in_this_build() }}
),

by_judge as (
    select
        labelled.prediction_id,
        labelled.audit_run_id,
        raters.rater as scoring_method,
        counted.is_match::integer::double as score,
        counted.is_match as is_correct,
        case
            when labelled.answer_status in ('error', 'empty') then labelled.answer_status
            when not labelled.has_key then 'no gold label'
            when counted.rater is null then 'not judged'
            else counted.unscored_because
        end as reason
    from labelled
    inner join raters using (audit_run_id)
    left join {{ ref('int_verdicts_counted') }} as counted
        on
            labelled.audit_run_id = counted.audit_run_id
            and raters.rater = counted.rater
            and labelled.task_id = counted.task_id
            and labelled.sample_id = counted.sample_id
            and labelled.completion_md5 = counted.completion_md5
            and labelled.reader is not distinct from counted.reader
),

scored as (
    select * from by_label
    union all by name
    select * from {{ ref('int_answers_scored') }}
    where {{ in_this_build() }}
    union all by name
    select * from by_judge
)

select
    labelled.audit_run_id,
    labelled.prediction_id,
    labelled.model_id,
    labelled.task_id,
    labelled.strategy,
    labelled.prompt_variant_id,
    labelled.sample_id,
    labelled.repetition,
    scored.scoring_method,
    if(scored.reason is null, scored.score, null) as score,
    if(scored.reason is null, scored.is_correct, null) as is_correct,
    if(scored.reason is null, 'scored', 'unscored') as score_state,
    scored.reason,
    {{ scoring_version('scored.scoring_method') }},
    {{ measure_version() }}
from scored
inner join labelled using (audit_run_id, prediction_id)
