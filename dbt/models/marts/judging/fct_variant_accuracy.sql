-- One row per run, model, task, strategy, prompt variant and scoring method: how often its answers are right.
-- An unscored answer counts as not right in accuracy and not at all in accuracy_scored; an error counts in neither.
-- Samples weigh equally whatever their repetitions; without a gold label they count nowhere, so without any it is NULL.
with scores as (
    select
        scores.*,
        samples.gold_label is not null as has_gold
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
),

cells as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        scoring_method,
        sample_id,
        avg(coalesce(score, 0)) filter (has_gold) as accuracy,
        avg(score) filter (has_gold) as accuracy_scored,
        count(*) filter (has_gold and score_state = 'scored') as n_scored,
        count(*) filter (has_gold and score_state = 'unscored') as n_unscored
    from scores
    group by all
)

select
    audit_run_id,
    model_id,
    task_id,
    strategy,
    prompt_variant_id,
    scoring_method,
    avg(accuracy) as accuracy,
    avg(accuracy_scored) as accuracy_scored,
    sum(n_scored)::bigint as n_scored,
    sum(n_unscored)::bigint as n_unscored,
    {{ measure_version() }}
from cells
group by all
