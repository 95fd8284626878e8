-- One row per run, model, task, strategy, prompt variant, sample and scoring method: the mean over its repetitions.
-- An unscored answer counts 0 in accuracy and not at all in accuracy_scored. An error, a ruling that was never made, and
-- options that were never weighed are missing and count in neither, nor does a sample of which it is not known what is right,
-- unless somebody who knew has ruled on the answer, or who rules needs no right answer, as people do.
-- People rule on some questions: of theirs count those whose every answer they ruled on, so that all templates and models are
-- held to the same ones.
with scored as {{ of_this_build('fct_scores') }},

samples as {{ of_this_build('stg_samples') }},

judges as {{ of_this_build('stg_judges') }},

keyless as (
    select
        audit_run_id,
        'judge:' || judge_id as scoring_method,
        true as needs_no_key
    from judges
    where not needs_key
),

-- with a ruling that is missing under one template, templates would be compared on different questions
ruled_in_part as (
    select distinct
        scored.audit_run_id,
        scored.task_id,
        scored.sample_id,
        scored.scoring_method
    from scored
    where scored.scoring_method = 'people' and scored.unscored_kind = 'not_judged'
),

scores as (
    select
        scored.*,
        {{ is_missing_score('scored.unscored_kind') }} as is_missing,
        scored.score_state = 'scored'
        or (
            (samples.has_key or coalesce(keyless.needs_no_key, scored.scoring_method = 'people'))
            and scored.unscored_kind is distinct from 'no_key'
        ) as is_known,
        samples.sample_index,
        coalesce(scored.is_correct::integer::double, scored.score) as worth
    from scored
    inner join samples using (audit_run_id, task_id, sample_id)
    left join keyless using (audit_run_id, scoring_method)
    anti join ruled_in_part using (audit_run_id, task_id, sample_id, scoring_method)
),

final as (
    select
        scores.audit_run_id,
        scores.model_id,
        scores.task_id,
        scores.strategy,
        scores.prompt_variant_id,
        scores.scoring_method,
        scores.sample_index,
        avg(coalesce(scores.worth, 0)) filter (scores.is_known and not scores.is_missing) as accuracy,
        avg(scores.worth) as accuracy_scored,
        count(*) filter (scores.score_state = 'scored') as n_scored,
        count(*) filter (scores.is_known and scores.score_state = 'unscored' and not scores.is_missing) as n_unscored,
        count(*) filter (scores.is_known and scores.is_missing) as n_missing,
        any_value(scores.is_correct::integer) filter (scores.repetition = 1) as first_is_correct,
        coalesce(bool_or(scores.score is not null and scores.is_correct is null), false) as is_graded
    from scores
    group by all
)

select * from final
