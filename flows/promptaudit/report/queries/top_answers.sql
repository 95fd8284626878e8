select
    said.task_id,
    said.sample_id,
    said.strategy,
    said.model_id,
    if(said.answer_status = 'valid', said.label, null) as label,
    left(said.completion, $long) as completion
from marts.fct_predictions as said
semi join top_samples as top on said.task_id = top.task_id and said.sample_id = top.sample_id
where said.audit_run_id = $run and said.answer_status <> 'error'
