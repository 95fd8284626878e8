-- Whether any of these runs is a night, and whether any has judges or was ruled on by people
with judged as (
    select audit_run_id from raw.judges
    union all
    select audit_run_id from raw.judge_controls
    union all
    select audit_run_id from raw.verdicts
)

select
    coalesce(bool_or(origin = 'run'), false) as has_nights,
    coalesce(bool_or(audit_run_id in (select judged.audit_run_id from judged)), false) as is_judged
from raw.audit_runs
where list_contains($runs, audit_run_id)
