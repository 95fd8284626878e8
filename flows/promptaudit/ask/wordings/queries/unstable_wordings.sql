-- the wordings made at paraphrase temperatures at which the answers of some model agree less than they should, and the
-- originals of their tasks; templates are edited in their card
-- of labels, N/A among them; of answers as they are where a task names no labels
with unstable as (
    select
        model_id,
        task_id,
        strategy,
        paraphrase_temperature
    from marts.fct_prompt_stability
    where audit_run_id = $run and scope = 'inter' and series = 'all'
    group by all
    having
        coalesce(
            max(pss) filter (annotation_filter = 'labels_and_na'), max(pss) filter (annotation_filter = 'verbatim')
        ) < $below
)

select distinct
    variants.task_id,
    variants.paraphrase_temperature,
    variants.variant_index,
    variants.instruction,
    variants.model_ids[1] as own_of
from raw.prompt_variants as variants
inner join unstable
    on
        variants.task_id = unstable.task_id
        and (
            variants.is_original
            or variants.paraphrase_temperature is not distinct from unstable.paraphrase_temperature
        )
        and coalesce(list_contains(variants.model_ids, unstable.model_id), true)
where
    variants.audit_run_id = $run
    and variants.refused_because is null
    and variants.template is null
    and coalesce(variants.variation, 'wording') in ('original', 'wording') -- what is edited is a wording
order by variants.task_id, own_of nulls first, variants.paraphrase_temperature nulls first, variants.variant_index
