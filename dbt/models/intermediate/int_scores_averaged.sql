-- One row per run, model, task, strategy, prompt variant, sample and scoring method: the mean over its repetitions.
-- An unscored answer counts 0 in accuracy and not at all in accuracy_scored; an error counts in neither, nor does a
-- sample of which it is not known what is right.
select
    scores.audit_run_id,
    scores.model_id,
    scores.task_id,
    scores.strategy,
    scores.prompt_variant_id,
    scores.scoring_method,
    samples.sample_index,
    avg(coalesce(scores.is_correct::integer::double, scores.score, 0)) filter (samples.has_key) as accuracy,
    avg(coalesce(scores.is_correct::integer::double, scores.score)) filter (samples.has_key) as accuracy_scored,
    count(*) filter (samples.has_key and scores.score_state = 'scored') as n_scored,
    count(*) filter (samples.has_key and scores.score_state = 'unscored') as n_unscored,
    any_value(scores.is_correct::integer) filter (samples.has_key and scores.repetition = 1) as first_is_correct
from {{ ref('fct_scores') }} as scores
inner join {{ ref('int_variants_measured') }} as variants using (audit_run_id, model_id, prompt_variant_id)
inner join {{ ref('stg_samples') }} as samples
    on
        scores.audit_run_id = samples.audit_run_id
        and scores.task_id = samples.task_id
        and scores.sample_id = samples.sample_id
where
    not variants.is_quarantined
    and scores.reason is distinct from 'error'
    and {{ in_this_build('scores.audit_run_id') }}
    and {{ in_this_build('variants.audit_run_id') }}
    and {{ in_this_build('samples.audit_run_id') }}
group by all
