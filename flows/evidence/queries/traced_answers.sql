select
    landed.*,
    labelled.strategy,
    labelled.variant_index,
    labelled.paraphrase_temperature,
    labelled.is_original,
    labelled.label,
    labelled.gold_label,
    labelled.answer_status,
    labelled.is_correct,
    labelled.is_quarantined
from labelled
inner join raw.predictions as landed using (audit_run_id, prediction_id)
order by labelled.audit_run_id, labelled.model_id, labelled.prompt_variant_id, labelled.sample_id, labelled.repetition
limit $most
