-- what the summary of formats has to hold: by the plan, not by the summary
with models as (
    select coalesce(list(model_id order by model_id), []) as models
    from raw.models
    where audit_run_id = $run
),

variants as (
    select
        coalesce(list(distinct strategy order by strategy), []) as strategies,
        sum(len(list_intersect(coalesce(prompt_variants.model_ids, models.models), models.models))) as n_pairs
    from raw.prompt_variants
    cross join models
    semi join raw.samples using (audit_run_id, task_id)
    where audit_run_id = $run and len(repetitions) > 0
)

select
    runs.audit_id,
    models.models,
    variants.strategies,
    coalesce(variants.n_pairs, 0)::bigint as n_rows
from raw.audit_runs as runs
cross join models
cross join variants
where runs.audit_run_id = $run
