select
    found.paraphrase_temperature,
    found.variant_index,
    found.is_original,
    found.sample_id,
    found.repetition,
    found.label,
    found.gold_label
from marts.fct_predictions as found
where
    found.audit_run_id = $run and found.model_id = $model and found.task_id = $task
    and found.strategy = $strategy and list_contains($samples, found.sample_id)
    and found.answer_status != 'error'
order by all
