-- One row per prediction and scoring method: right, wrong, or unscored with a reason.
with predictions as {{ of_this_build('int_predictions_labelled') }},

tasks as {{ of_this_build('stg_tasks') }},

samples as {{ of_this_build('stg_samples') }},

variants as {{ of_this_build('stg_prompt_variants') }},

verdicts as {{ of_this_build('int_verdicts_counted', where="not starts_with(rater, 'person:')") }},

judges as {{ of_this_build('stg_judges') }},

by_text as {{ of_this_build('int_answers_scored') }},

labelled as (
    select
        predictions.*,
        samples.has_key,
        tasks.scoring_methods,
        {{ options_as_shown('variants.reader', 'predictions.option_order') }} as reader
    from predictions
    inner join tasks using (audit_run_id, task_id)
    inner join samples using (audit_run_id, task_id, sample_id)
    inner join variants
        on predictions.audit_run_id = variants.audit_run_id and predictions.prompt_variant_id = variants.prompt_variant_id
),

by_label as (
    select
        prediction_id,
        audit_run_id,
        unnest(list_intersect(scoring_methods, {{ label_rules() }})) as scoring_method,
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
        verdicts.audit_run_id,
        verdicts.rater,
        judges.task_ids,
        coalesce(judges.needs_key, verdicts.rater != 'people') as needs_key
    from verdicts
    left join judges on verdicts.audit_run_id = judges.audit_run_id and verdicts.rater = 'judge:' || judges.judge_id
),

-- a judge rules on every answer to its tasks, people on those to some questions, for which they need no key
questions_of_people as (
    select distinct
        audit_run_id,
        task_id,
        sample_id
    from verdicts
    where rater = 'people'
),

by_judge as (
    select
        labelled.prediction_id,
        labelled.audit_run_id,
        raters.rater as scoring_method,
        coalesce(verdicts.is_match::integer::double, verdicts.score) as score,
        verdicts.is_match as is_correct,
        case
            when labelled.answer_status in ('error', 'empty') then labelled.answer_status
            -- a program that recorded the answers may have ruled by what it does not tell
            when verdicts.rater is not null then verdicts.unscored_because
            when raters.needs_key and not labelled.has_key then 'no gold label'
            else 'not judged'
        end as reason
    from labelled
    inner join raters
        on
            labelled.audit_run_id = raters.audit_run_id
            and (raters.task_ids is null or list_contains(raters.task_ids, labelled.task_id))
    left join verdicts
        on
            labelled.audit_run_id = verdicts.audit_run_id
            and raters.rater = verdicts.rater
            and labelled.task_id = verdicts.task_id
            and labelled.sample_id = verdicts.sample_id
            and labelled.completion_md5 = verdicts.completion_md5
            and labelled.reader is not distinct from verdicts.reader
    where
        raters.rater != 'people'
        or exists (
            select 1 from questions_of_people as questions
            where
                labelled.audit_run_id = questions.audit_run_id
                and labelled.task_id = questions.task_id
                and labelled.sample_id = questions.sample_id
        )
),

scored as (
    select * from by_label
    union all by name
    select * from by_text
    union all by name
    select * from by_judge
),

final as (
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
        {{ unscored_kind('scored.reason') }} as unscored_kind,
        {{ scoring_version('scored.scoring_method') }},
        {{ measure_version() }}
    from scored
    inner join labelled using (audit_run_id, prediction_id)
)

select * from final
