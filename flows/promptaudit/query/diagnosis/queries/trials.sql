-- one row a model, task and strategy: how often a trial asks each sample, which is under every wording, and how answers are read
select
    asked.model_id,
    asked.task_id,
    asked.strategy,
    any_value(tasks.reader) as reader,
    count(distinct {'variant': asked.prompt_variant_id, 'repetition': asked.repetition}) as n_asks
from marts.fct_predictions as asked
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
where asked.audit_run_id = $run
group by asked.model_id, asked.task_id, asked.strategy
