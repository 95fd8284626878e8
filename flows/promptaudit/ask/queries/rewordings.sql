-- one row a run and rewording that is to be ruled on: equal texts of one task are one, whatever their strategy and temperature
select
    variants.audit_run_id,
    min(variants.prompt_variant_id) as wording_id,
    list(variants.prompt_variant_id) as prompt_variant_ids,
    variants.task_id,
    originals.instruction as original,
    variants.instruction as rewording,
    coalesce(min(variants.output_format), '') as output_format
from raw.prompt_variants as variants
inner join raw.prompt_variants as originals using (audit_run_id, task_id, strategy)
where
    originals.is_original
    and not variants.is_original
    and variants.refused_because is null
    and variants.instruction != originals.instruction
group by all
