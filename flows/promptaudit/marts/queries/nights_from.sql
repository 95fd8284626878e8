-- These nights and the later ones of their audits, in the order in which they landed.
with nights as (
    select distinct
        runs.audit_run_id,
        runs.audit_id,
        runs.run_index
    from marts.dim_groups as groups
    inner join raw.audit_runs as runs using (audit_run_id)
),

firsts as (
    select
        audit_id,
        min(run_index) as run_index
    from nights
    where list_contains($runs, audit_run_id)
    group by audit_id
)

select nights.audit_run_id
from nights
inner join firsts on nights.audit_id = firsts.audit_id and nights.run_index >= firsts.run_index
order by nights.run_index
