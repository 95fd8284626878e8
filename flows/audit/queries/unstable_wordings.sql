-- the wordings made at paraphrase temperatures at which the answers of some model agree less than they should, and the
-- originals of their tasks; templates are edited in their card
with unstable as (
    select distinct
        task_id,
        paraphrase_temperature
    from marts.fct_prompt_stability
    where
        audit_run_id = $run and scope = 'inter' and series = 'all' and annotation_filter = 'valid' and pss < $below
)

select distinct
    variants.task_id,
    variants.paraphrase_temperature,
    variants.variant_index,
    variants.instruction,
    to_json(variants) ->> '$.model_ids[0]' as own_of -- a copy of an earlier version has no such column
from raw.prompt_variants as variants
inner join unstable
    on
        variants.task_id = unstable.task_id
        and (
            variants.is_original
            or variants.paraphrase_temperature is not distinct from unstable.paraphrase_temperature
        )
where variants.audit_run_id = $run and variants.refused_because is null and variants.template is null
order by variants.task_id, variants.variant_index
