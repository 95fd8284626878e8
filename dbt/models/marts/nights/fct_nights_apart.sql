-- One row per night, model, task, strategy, sample and earlier night: how differently the same cells were answered.
-- The mean over the cells that both nights have of 1 - sum over labels of p q, p and q the shares of a cell's answers.
with nights as {{ all_of('int_nights_in_use', where='age > 0') }},

predictions as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        prompt_variant_id,
        coalesce(label, chr(0)) as label
    from {{ ref('fct_predictions') }}
    where answer_status != 'error'
),

-- an open task has no labels
tasks as (
    select
        audit_run_id,
        task_id
    from {{ ref('stg_tasks') }}
    where {{ has_labels('kind') }} and {{ in_this_build() }}
),

runs as (
    select audit_run_id from nights
    union
    select other_run_id from nights
),

counted as (
    select
        predictions.audit_run_id,
        predictions.model_id,
        predictions.task_id,
        predictions.strategy,
        predictions.sample_id,
        predictions.prompt_variant_id,
        predictions.label,
        count(*) as n_said
    from predictions
    semi join runs using (audit_run_id)
    group by all
),

shares as (
    select
        * exclude (n_said),
        n_said / sum(n_said) over (
            partition by audit_run_id, model_id, task_id, strategy, sample_id, prompt_variant_id
        ) as share
    from counted
),

cells as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        prompt_variant_id,
        map(list(label), list(share)) as shares
    from shares
    group by all
),

final as (
    select
        nights.audit_run_id,
        nights.other_run_id,
        nights.model_id,
        nights.task_id,
        nights.strategy,
        own.sample_id,
        avg(1 - list_sum(list_transform(
            map_entries(own.shares), lambda said: said.value * coalesce(other.shares[said.key], 0)
        ))) as apart,
        count(*) as n_cells,
        {{ measure_version() }}
    from nights
    semi join tasks using (audit_run_id, task_id)
    inner join cells as own using (audit_run_id, model_id, task_id, strategy)
    inner join cells as other
        on
            nights.other_run_id = other.audit_run_id
            and own.model_id = other.model_id
            and own.task_id = other.task_id
            and own.strategy = other.strategy
            and own.sample_id = other.sample_id
            and own.prompt_variant_id = other.prompt_variant_id
    group by all
)

select * from final
