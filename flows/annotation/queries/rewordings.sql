-- one row a rewording of a published run that people may rule on: equal texts of one task are one
select
    min(variants.prompt_variant_id) as item,
    variants.task_id as task,
    coalesce(any_value(variants.output_format), '') as output_format,
    originals.instruction as original,
    variants.instruction as rewording
from marts.dim_prompt_variants as variants
inner join marts.dim_prompt_variants as originals using (audit_run_id, task_id, strategy)
where
    variants.audit_run_id = $run
    and variants.task_id in (select unnest($tasks))
    and originals.is_original
    and not variants.is_original
    and variants.refused_because is null
    and variants.instruction != originals.instruction
group by all
order by variants.task_id, item
