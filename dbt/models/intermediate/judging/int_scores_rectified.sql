-- One row per run, model, prompt variant, sample and judge of a task on which people ruled: what the judge says of the answers of
-- the cell, and what people say of those that they ruled on.
-- The answers are those of int_scores_averaged. An empty answer, about which nobody is asked, is wrong for certain.
with scored as {{ of_this_build('fct_scores', where="starts_with(scoring_method, 'judge:')") }},

ruled as {{ of_this_build('int_answers_ruled') }},

labelled as {{ of_this_build('int_predictions_labelled') }},

variants as {{ of_this_build('stg_prompt_variants') }},

samples as {{ of_this_build('stg_samples') }},

judges as {{ of_this_build('stg_judges') }},

answers as (
    select
        scored.audit_run_id,
        scored.model_id,
        scored.task_id,
        scored.prompt_variant_id,
        scored.scoring_method as judge,
        samples.sample_index,
        labelled.answer_status != 'empty' as is_rulable,
        coalesce(scored.is_correct, false)::integer as judged,
        {{ answer_key(
            'labelled.sample_id', options_as_shown('variants.reader', 'labelled.option_order'), 'labelled.completion_md5'
        ) }} as answer
    from scored
    inner join samples using (audit_run_id, task_id, sample_id)
    semi join ruled using (audit_run_id, task_id)
    inner join labelled
        on scored.audit_run_id = labelled.audit_run_id and scored.prediction_id = labelled.prediction_id
    inner join variants
        on scored.audit_run_id = variants.audit_run_id and scored.prompt_variant_id = variants.prompt_variant_id
    left join judges
        on scored.audit_run_id = judges.audit_run_id and scored.scoring_method = 'judge:' || judges.judge_id
    where
        not {{ is_missing_score('scored.unscored_kind') }}
        and (samples.has_key or not coalesce(judges.needs_key, true) or scored.score_state = 'scored')
        and (scored.is_correct is not null or scored.score is null) -- a grade is no ruling
),

final as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.prompt_variant_id,
        answers.judge,
        answers.sample_index,
        avg(answers.judged) as judged,
        avg(answers.is_rulable::integer) as rulable,
        sum(coalesce(ruled.weight, 0)) / count(*) as weight,
        sum(coalesce(ruled.weight, 0) * answers.judged) / count(*) as ruled_judged,
        sum(if(ruled.is_right, ruled.weight, 0)) / count(*) as ruled_right,
        list(distinct answers.answer) filter (ruled.answer is not null) as answers_ruled
    from answers
    left join ruled
        on
            answers.audit_run_id = ruled.audit_run_id
            and answers.task_id = ruled.task_id
            and answers.answer = ruled.answer
            and answers.is_rulable
    group by all
)

select * from final
