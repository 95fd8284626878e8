-- Whether any of these runs is a night, and whether any has judges or was ruled on by people
select
    coalesce(bool_or(origin = 'run'), false) as has_nights,
    exists (select 1 from raw.judges where list_contains($runs, audit_run_id))
    or exists (select 1 from raw.judge_controls where list_contains($runs, audit_run_id))
    or exists (select 1 from raw.verdicts where list_contains($runs, audit_run_id)) as is_judged
from raw.audit_runs
where list_contains($runs, audit_run_id)
