-- rulings that the judge made in earlier runs on rewordings that this one has in the same texts, each with the id it has here
with wordings as (
    select
        variants.audit_run_id,
        variants.prompt_variant_id,
        variants.task_id,
        originals.instruction as original,
        variants.instruction as rewording,
        coalesce(variants.output_format, '') as output_format
    from raw.prompt_variants as variants
    inner join raw.prompt_variants as originals using (audit_run_id, task_id, strategy)
    where originals.is_original and not variants.is_original and variants.instruction != originals.instruction
),

own as (
    select
        * exclude (prompt_variant_id, output_format),
        min(prompt_variant_id) as wording_id,
        min(output_format) as output_format
    from wordings
    where audit_run_id = $run
    group by all
)

select
    own.wording_id,
    verdicts.*
from raw.verdicts as verdicts
inner join wordings using (audit_run_id, prompt_variant_id)
inner join own using (task_id, original, rewording, output_format)
where
    verdicts.audit_run_id != $run
    and verdicts.judge_id = $judge
    and verdicts.judge_key = $key
    and verdicts.is_settled
    and verdicts.error is null
    and verdicts.repetition <= $repetitions
    and list_contains($tasks, own.task_id)
qualify
    row_number() over (
        partition by own.wording_id, verdicts.repetition order by verdicts.landed_at desc, verdicts.verdict_id asc
    ) = 1
