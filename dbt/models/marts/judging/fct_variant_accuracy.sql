-- One row per run, model, task, strategy, prompt variant and scoring method: how often its answers are right.
-- An unscored answer counts as not right in accuracy and not at all in accuracy_scored; what is missing, in neither.
-- Samples weigh equally whatever their repetitions; where it is not known what is right they count nowhere, so it is NULL.
-- Under the method people the samples are those whose every answer people ruled on; the others are not counted at all.
with averaged as (
    select * from {{ ref('int_scores_averaged') }}
    where {{ in_this_build() }}
),

final as (
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
        sum(n_missing)::bigint as n_missing,
        {{ measure_version() }}
    from averaged
    group by all
)

select * from final
