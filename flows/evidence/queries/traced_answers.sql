select
    landed.*,
    said.strategy,
    said.variant_index,
    said.paraphrase_temperature,
    said.is_original,
    said.label,
    said.gold_label,
    said.answer_status,
    said.is_correct,
    said.is_quarantined
from said
inner join raw.predictions as landed using (audit_run_id, prediction_id)
order by said.audit_run_id, said.model_id, said.prompt_variant_id, said.sample_id, said.repetition
limit $most
