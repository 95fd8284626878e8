-- N/A comes first in every list, then the labels in the task's order
select
    found.sample_id,
    any_value(found.gold_label) as gold_label,
    list(found.p_tau order by found.label_index) as p_tau,
    any_value(measured.sensitivity) as sensitivity,
    any_value(measured.n_variants) as n_variants
from marts.fct_p_tau as found
inner join marts.fct_sensitivity as measured using (audit_run_id, model_id, task_id, strategy, sample_id)
where found.audit_run_id = $run and found.model_id = $model and found.task_id = $task and found.strategy = $strategy
group by found.sample_id, found.sample_index
order by found.sample_index
