-- One row per run, model, task, strategy, measure and sample: what its scores say, and what it adds to the spread of wordings
-- (jackknife pseudo-values).
{{ config(materialized='view') }}
with scored as {{ of_this_build('int_scores_averaged', where="accuracy is not null and scoring_method != 'people'") }},

-- accuracy of each wording with and without each sample
spreads as (
    select
        *,
        sum(accuracy) over one_wording as right_in_all,
        count(*) over one_wording as n_in_all
    from scored
    window one_wording as (
        partition by audit_run_id, model_id, task_id, strategy, scoring_method, prompt_variant_id
    )
),

wording_spreads as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        sample_index,
        stddev_pop(right_in_all / n_in_all) as with_it,
        stddev_pop((right_in_all - accuracy) / nullif(n_in_all - 1, 0)) as without_it,
        count(*) as n_wordings
    from spreads
    group by all
),

sized as (
    select
        *,
        count(*) over (partition by audit_run_id, model_id, task_id, strategy, scoring_method) as n_samples
    from wording_spreads
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'accuracy:' || scoring_method as measure,
        sample_index,
        avg(accuracy) as figure
    from scored
    where scoring_method != 'label_match' -- which is micro_f1
    group by all
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'accuracy_std:' || scoring_method as measure,
        sample_index,
        n_samples * with_it - (n_samples - 1) * without_it as figure
    from sized
    where n_samples > 1 and n_wordings > 1
)

select * from final
