with newest as (
    select
        variants.audit_run_id,
        variants.strategy
    from raw.prompt_variants as variants
    inner join raw.audit_runs as runs using (audit_run_id)
    where variants.rephrasing_key = $key and variants.strategy = coalesce($strategy, variants.strategy)
    order by runs.run_index desc, variants.strategy asc
    limit 1
)

select
    paraphrase_temperature,
    variant_index,
    instruction,
    model_ids[1] as own_of,
    is_edited,
    refused_because,
    answer_schema
from raw.prompt_variants
inner join newest using (audit_run_id, strategy)
where rephrasing_key = $key
order by refused_because is not null, abs(variant_index)
