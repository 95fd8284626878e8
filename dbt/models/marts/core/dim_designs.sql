-- One row per run, model, task and strategy: which part of its grid is asked.
with runs as {{ of_this_build('stg_audit_runs') }},

designs as {{ of_this_build('stg_designs') }},

samples as {{ of_this_build('stg_samples') }},

planned as {{ of_this_build('int_cells_planned') }},

sizes as (
    select
        audit_run_id,
        task_id,
        count(*) as n_samples
    from samples
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
        designs.twice,
        designs.seed,
        cells.n_planned,
        sizes.n_samples * cells.n_asks as n_cells_of_grid,
        {{ measure_version() }}
    from cells
    inner join runs using (audit_run_id)
    inner join sizes using (audit_run_id, task_id)
    left join designs using (audit_run_id)
)

select * from final
