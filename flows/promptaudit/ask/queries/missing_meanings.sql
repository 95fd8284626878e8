-- one row a repetition and rewording that the judge is to rule on
select
    rewordings.wording_id,
    asks.repetition,
    rewordings.task_id,
    rewordings.original,
    rewordings.rewording,
    rewordings.output_format
from rewordings
cross join (select unnest(range(1, $repetitions + 1))::integer as repetition) as asks
where
    rewordings.audit_run_id = $run
    and list_contains($tasks, rewordings.task_id)
    and not exists (
        select 1 from raw.verdicts as verdicts
        where
            verdicts.audit_run_id = $run
            and verdicts.judge_id = $judge
            and verdicts.judge_key = $key
            and verdicts.is_settled
            and verdicts.repetition = asks.repetition
            and verdicts.prompt_variant_id in (select unnest(rewordings.prompt_variant_ids))
    )
