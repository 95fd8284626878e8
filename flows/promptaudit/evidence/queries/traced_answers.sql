-- the answers that are shown are chosen before the join, which takes 3 GiB with all of ten million; a retired run has none
with shown as (
    select labelled.*
    from labelled
    -- as a list, since a join would be made of all rows
    where list_contains((select list(distinct audit_run_id) from raw.predictions), labelled.audit_run_id)
    order by audit_run_id, model_id, prompt_variant_id, sample_id, repetition
    limit $most
)

select
    landed.*,
    shown.strategy,
    shown.variant_index,
    shown.paraphrase_temperature,
    shown.is_original,
    shown.label,
    shown.gold_label,
    shown.answer_status,
    shown.is_correct
from shown
inner join raw.predictions as landed using (audit_run_id, prediction_id)
order by shown.audit_run_id, shown.model_id, shown.prompt_variant_id, shown.sample_id, shown.repetition
