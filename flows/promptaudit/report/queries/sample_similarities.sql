-- of each task the classes whose samples are shown pair by pair, with the labels of the samples
select
    found.*,
    said.label,
    said.label_index,
    said.p_tau
from marts.rpt_sample_similarities as found
inner join marts.fct_p_tau as said using (audit_run_id, model_id, task_id, strategy, sample_id)
where found.audit_run_id = $run and said.audit_run_id = $run and said.p_tau > 0
order by found.task_id, found.gold_label, found.sample_id, said.label_index
