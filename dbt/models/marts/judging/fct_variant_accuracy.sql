-- One row per run, model, task, strategy, prompt variant and scoring method: how often its answers are right.
-- An unscored answer counts as not right in accuracy and not at all in accuracy_scored; what is missing, in neither.
-- Samples weigh equally whatever their repetitions; where it is not known what is right they count nowhere, so it is NULL.
-- By a judge it is rectified by what people ruled on of the same prompt variant.
-- Under the method people the samples are those whose every answer people ruled on; the others are not counted at all.
with averaged as {{ of_this_build('int_scores_averaged') }},

ruled as {{ of_this_build('int_scores_rectified') }},

rectified as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        judge,
        try_rectified_accuracy(
            {{ group_keys(keys=['audit_run_id', 'model_id']) }},
            list(sample_index),
            list(0),
            list(judged),
            list(rulable),
            list(weight),
            list(ruled_judged),
            list(ruled_right),
            null,
            null
        ) as own,
        len(list_distinct(flatten(list(answers_ruled)))) as n_ruled
    from ruled
    group by all
),

variants as {{ variants_numbered('averaged') }},

cells as (
    select
        averaged.*,
        variants.variant
    from averaged
    inner join variants using (audit_run_id, task_id, strategy, prompt_variant_id)
    where averaged.accuracy is not null
),

fitted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        unnest(try_wording_accuracies(
            {{ group_keys() }},
            list(sample_index), list(variant), list(accuracy)
        )) as own
    from cells
    group by audit_run_id, model_id, task_id, strategy, scoring_method
),

by_variant as (
    select
        fitted.audit_run_id,
        fitted.model_id,
        fitted.scoring_method,
        variants.prompt_variant_id,
        fitted.own.accuracy as accuracy_fitted,
        fitted.own.shrunk as accuracy_shrunk
    from fitted
    inner join variants
        on
            fitted.audit_run_id = variants.audit_run_id
            and fitted.task_id = variants.task_id
            and fitted.strategy = variants.strategy
            and fitted.own.variant = variants.variant
),

counted as (
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
        sum(n_missing)::bigint as n_missing
    from averaged
    group by all
),

final as (
    select
        counted.audit_run_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        counted.prompt_variant_id,
        counted.scoring_method,
        counted.accuracy,
        counted.accuracy_scored,
        by_variant.accuracy_fitted,
        by_variant.accuracy_shrunk,
        rectified.own.accuracy as accuracy_rectified,
        rectified.own.accuracy_low as accuracy_rectified_low,
        rectified.own.accuracy_high as accuracy_rectified_high,
        if(starts_with(counted.scoring_method, 'judge:'), coalesce(rectified.n_ruled, 0), null)::integer as n_ruled,
        counted.n_scored,
        counted.n_unscored,
        counted.n_missing,
        {{ measure_version() }}
    from counted
    left join by_variant using (audit_run_id, model_id, prompt_variant_id, scoring_method)
    left join rectified
        on
            counted.audit_run_id = rectified.audit_run_id
            and counted.model_id = rectified.model_id
            and counted.prompt_variant_id = rectified.prompt_variant_id
            and counted.scoring_method = rectified.judge
)

select * from final
