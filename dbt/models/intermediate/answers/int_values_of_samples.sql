-- One row per run, model, task, strategy, measure and sample: what the sample adds to sensitivity, consistency and stability.
with samples as {{ of_this_build('stg_samples') }},

sensitivities as (
    select
        figures.*,
        samples.sample_index
    from {{ ref('fct_sensitivity') }} as figures
    inner join samples using (audit_run_id, task_id, sample_id)
    where {{ in_this_build('figures.audit_run_id') }}
),

annotations as {{ of_this_build('int_annotations_listed', where="scope in ('intra', 'inter')") }},

tasks as {{ of_this_build('stg_tasks') }},

-- the mean over a class of a sample's distances to it, so that the mean over samples is the measure
classes as (
    select
        *,
        count(*) over (partition by audit_run_id, model_id, task_id, strategy, gold_label) as n_class,
        count(*) over (partition by audit_run_id, model_id, task_id, strategy) as n_samples
    from sensitivities
    where gold_label is not null
),

agreeing as (
    select
        *,
        1 - n_samples * (n_class - 1) * (1 - coalesce(mean_consistency, 1)) / sum(n_class) over one_group as share
    from classes
    window one_group as (partition by audit_run_id, model_id, task_id, strategy)
),

alphas as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scope,
        unnest(try_alpha_pseudo_values(
            {{ group_keys(is_row=true) }},
            samples, annotators, replicates, annotations, tasks.level
        )) as own
    from annotations
    inner join tasks using (audit_run_id, task_id)
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'sensitivity' as measure,
        sample_index,
        sensitivity as figure
    from sensitivities
    where sensitivity is not null
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'consistency' as measure,
        sample_index,
        round(2 * share - avg(share) over (partition by audit_run_id, model_id, task_id, strategy), 12) as figure
    from agreeing
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'pss_' || scope as measure,
        own.sample as sample_index,
        avg(own.value) as figure
    from alphas
    group by all
    having count(own.value) > 0
)

select * from final
