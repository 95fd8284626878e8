-- One row per run, model, task and strategy: which part of its grid is asked.
with runs as (
    select * from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

designs as (
    select * from {{ ref('stg_designs') }}
    where {{ in_this_build() }}
),

grids as (
    select * from {{ ref('int_grids') }}
    where {{ in_this_build() }}
),

batches as (
    select * from {{ ref('stg_sample_batches') }}
    where {{ in_this_build() }}
),

batches_asked as (
    select * from {{ ref('int_batches_asked') }}
    where {{ in_this_build() }}
),

samples as (
    select * from {{ ref('stg_samples') }}
    where {{ in_this_build() }}
),

planned as (
    select * from {{ ref('int_cells_planned') }}
    where {{ in_this_build() }}
),

sizes as (
    select
        audit_run_id,
        task_id,
        count(*) as n_samples
    from samples
    group by all
),

asked as (
    select
        batches_asked.audit_run_id,
        batches_asked.model_id,
        batches_asked.task_id,
        batches_asked.strategy,
        any_value(batches_asked.is_stopped) as is_stopped,
        sum(len(batches.sample_ids))::bigint as n_samples
    from batches_asked
    inner join batches
        on
            batches_asked.audit_run_id = batches.audit_run_id
            and batches_asked.task_id = batches.task_id
            and batches_asked.n_batches >= batches.batch
    group by all
),

cells as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(distinct prompt_variant_id) as n_wordings,
        count(*) as n_asks,
        sum(n_planned)::bigint as n_planned
    from planned
    group by all
),

final as (
    select
        cells.audit_run_id,
        runs.audit_id,
        cells.model_id,
        cells.task_id,
        cells.strategy,
        sizes.n_samples,
        cells.n_wordings,
        grids.wordings_per_sample,
        designs.twice,
        designs.stop,
        designs.base_run_id,
        coalesce(asked.is_stopped, false) as is_stopped,
        coalesce(asked.n_samples, sizes.n_samples) as n_samples_asked,
        designs.seed,
        cells.n_planned,
        sizes.n_samples * cells.n_asks as n_cells_of_grid,
        {{ measure_version() }}
    from cells
    inner join runs using (audit_run_id)
    inner join sizes using (audit_run_id, task_id)
    inner join grids using (audit_run_id, task_id, strategy)
    left join designs using (audit_run_id)
    left join asked using (audit_run_id, model_id, task_id, strategy)
)

select * from final
