-- Whether any of these runs is a night, whether any has judges or was ruled on by people, and whether any extracts fields
with judged as (
    select audit_run_id from raw.judges
    union all
    select audit_run_id from raw.judge_controls
    union all
    select audit_run_id from raw.verdicts
)

select
    coalesce(bool_or(origin = 'run'), false) as nights,
    coalesce(bool_or(audit_run_id in (select judged.audit_run_id from judged)), false) as judges,
    exists(
        select 1 from raw.tasks as tasks
        where list_contains($runs, tasks.audit_run_id) and tasks.kind = 'extraction'
    ) as fields
from raw.audit_runs
where list_contains($runs, audit_run_id)
