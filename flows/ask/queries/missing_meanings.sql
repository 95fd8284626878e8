-- one row a rewording that the judge is to rule on: equal texts of one task are one, whatever their strategy and temperature
with rewordings as (
    select
        min(variants.prompt_variant_id) as prompt_variant_id,
        list(variants.prompt_variant_id) as prompt_variant_ids,
        variants.task_id,
        originals.instruction as original,
        variants.instruction as rewording,
        min(variants.output_format) as output_format
    from raw.prompt_variants as variants
    inner join raw.prompt_variants as originals using (audit_run_id, task_id, strategy)
    where
        variants.audit_run_id = $run
        and originals.is_original
        and not variants.is_original
        and variants.refused_because is null
        and variants.instruction != originals.instruction
        and variants.task_id in (select unnest($tasks))
    group by all
)

select
    rewordings.prompt_variant_id as wording_id,
    asks.repetition,
    rewordings.task_id,
    rewordings.original,
    rewordings.rewording,
    rewordings.output_format
from rewordings
cross join (select unnest(range(1, $repetitions + 1))::integer as repetition) as asks
where
    not exists (
        select 1 from raw.verdicts as verdicts
        where
            verdicts.audit_run_id = $run
            and verdicts.judge_id = $judge
            and verdicts.judge_key = $key
            and verdicts.is_settled
            and verdicts.repetition = asks.repetition
            and verdicts.prompt_variant_id in (select unnest(rewordings.prompt_variant_ids))
    )
