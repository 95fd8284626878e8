-- One row per run, model, task, strategy, gold label and step of similarity (exactly 0, twentieths, exactly 1): the pairs of
-- samples of the class that are so alike, counted from the distinct p_tau of the class.
with by_gold as {{ of_this_build('int_p_tau_by_gold') }},

runs as {{ of_this_build('stg_audit_runs') }},

counted as (
    select
        by_gold.audit_run_id,
        by_gold.model_id,
        by_gold.task_id,
        by_gold.strategy,
        by_gold.gold_label,
        try_pair_distances(
            {{ group_keys('by_gold') }},
            list(by_gold.sample_index),
            list(by_gold.label_index),
            list(by_gold.p_tau),
            any_value(runs.seed)
        ) as steps
    from by_gold
    inner join runs using (audit_run_id)
    group by all
),

measured as (
    select
        * exclude (steps),
        unnest(steps) as step
    from counted
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        step.similarity_low as similarity_low,
        step.similarity_high as similarity_high,
        step.n_pairs::bigint as n_pairs,
        2 * step.n_pairs / (step.n_samples::double * (step.n_samples - 1)) as pair_share,
        step.mean_similarity as mean_similarity,
        step.n_samples as n_samples,
        step.n_distinct as n_distinct,
        {{ measure_version() }}
    from measured
)

select * from final
