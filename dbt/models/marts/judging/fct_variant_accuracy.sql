-- One row per run, model, task, strategy, prompt variant and scoring method: how often its answers are right.
-- An unscored answer counts as not right in accuracy and not at all in accuracy_scored; an error counts in neither.
with scores as (
    select scores.*
    from {{ ref('fct_scores') }} as scores
    inner join {{ ref('int_variants_measured') }} as variants using (audit_run_id, model_id, prompt_variant_id)
    where
        not variants.is_quarantined
        and coalesce(scores.reason, '') not in ('error', 'no gold label')
        and {{ in_this_build('scores.audit_run_id') }}
        and {{ in_this_build('variants.audit_run_id') }}
),

samples as (
    select audit_run_id, task_id, sample_id
    from {{ ref('stg_samples') }}
    where gold_label is not null and {{ in_this_build() }}
)

select
    scores.audit_run_id,
    scores.model_id,
    scores.task_id,
    scores.strategy,
    scores.prompt_variant_id,
    scores.scoring_method,
    avg(coalesce(scores.score, 0)) as accuracy,
    avg(scores.score) as accuracy_scored,
    count(*) filter (scores.score_state = 'scored') as n_scored,
    count(*) filter (scores.score_state = 'unscored') as n_unscored,
    {{ measure_version() }}
from scores
inner join samples using (audit_run_id, task_id, sample_id)
group by all
