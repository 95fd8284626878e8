-- rulings that the judge made in earlier runs on rewordings that this one has in the same texts, each with the id it has here
select
    own.wording_id,
    verdicts.*
from raw.verdicts as verdicts
inner join rewordings
    on
        verdicts.audit_run_id = rewordings.audit_run_id
        and list_contains(rewordings.prompt_variant_ids, verdicts.prompt_variant_id)
inner join rewordings as own
    on
        rewordings.task_id = own.task_id
        and rewordings.original = own.original
        and rewordings.rewording = own.rewording
        and rewordings.output_format = own.output_format
where
    own.audit_run_id = $run
    and verdicts.audit_run_id != $run
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
