-- One row per run, judge, task, measure and anchor or answer: how the judge ruled on it.
-- An answer that is given again word for word on another night, to the same question with the same key, is ruled on again: a
-- judge that rules otherwise then has changed, whatever became of the model. Its hash stands in the place of a sample.
{{ config(materialized='view') }}
with anchors as {{ of_this_build('fct_judge_anchors') }},

verdicts as {{ of_this_build(
    'int_verdicts_counted', where="starts_with(rater, 'judge:') and prediction_id is not null and is_match is not null"
) }},

samples as {{ of_this_build('stg_samples') }},

final as (
    select
        audit_run_id,
        scoring_method as model_id,
        task_id,
        'anchors' as strategy,
        'judge_agreement' as measure,
        anchor_id as sample_id,
        (difference = 0)::integer as figure
    from anchors
    where difference is not null
    union all by name
    select
        verdicts.audit_run_id,
        verdicts.rater as model_id,
        verdicts.task_id,
        'anchors' as strategy,
        'judge_match_rate' as measure,
        md5(json_array(
            samples.sample_id, samples.input, samples.gold_label, samples.options, samples.reference_answers, verdicts.reader,
            verdicts.completion_md5
        )::varchar) as sample_id,
        verdicts.is_match::integer as figure
    from verdicts
    inner join samples using (audit_run_id, task_id, sample_id)
)

select * from final
