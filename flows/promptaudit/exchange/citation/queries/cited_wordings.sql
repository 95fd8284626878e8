-- One row per task and strategy of a run: the samples, the wordings they were asked under, and how often.
with samples as (
    select
        task_id,
        count(*) as n_samples
    from marts.dim_samples
    where audit_run_id = $run
    group by all
),

variants as (
    select * from marts.dim_prompt_variants
    where audit_run_id = $run and not is_refused
)

select
    variants.task_id,
    variants.strategy,
    tasks.kind,
    tasks.level,
    coalesce(len(tasks.labels), 0) as n_labels,
    samples.n_samples,
    count(*) as n_variants,
    list_sort(
        list(distinct variants.paraphrase_temperature) filter (where variants.paraphrase_temperature is not null)
    ) as paraphrase_temperatures,
    list_sort(list(distinct variants.n_repetitions) filter (where variants.is_original)) as original_repetitions,
    list_sort(list(distinct variants.n_repetitions) filter (where not variants.is_original)) as repetitions,
    list_sort(list(distinct variants.rephraser_id) filter (where variants.rephraser_id is not null)) as rephrasers
from variants
inner join marts.dim_tasks as tasks on variants.audit_run_id = tasks.audit_run_id and variants.task_id = tasks.task_id
inner join samples on variants.task_id = samples.task_id
group by all
order by variants.task_id, variants.strategy
