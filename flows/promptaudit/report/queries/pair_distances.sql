-- of the classes whose samples are shown pair by pair
select counted.*
from marts.rpt_pair_distances as counted
semi join marts.rpt_sample_pairs as shown using (audit_run_id, model_id, task_id, strategy, gold_label)
where counted.audit_run_id = $run
order by counted.task_id, counted.gold_label, counted.similarity_low, counted.similarity_high
