-- models that answer by chance, or with errors on purpose, are left aside where there is another
with measured as (
    select
        found.task_id,
        found.sample_id,
        found.sensitivity,
        found.gold_label,
        coalesce(models.engine = 'embedded' and models.model in ('random', 'noisy'), false) as is_reference
    from marts.fct_sensitivity as found
    left join marts.dim_models as models using (audit_run_id, model_id)
    where found.audit_run_id = $run and found.sensitivity is not null
)

select
    task_id,
    sample_id,
    avg(sensitivity) as sensitivity,
    max(gold_label) as gold_label
from measured
where not is_reference or (select bool_and(each_one.is_reference) from measured as each_one)
group by all
having avg(sensitivity) > 0
order by sensitivity desc, task_id asc, sample_id asc
limit $top_samples
