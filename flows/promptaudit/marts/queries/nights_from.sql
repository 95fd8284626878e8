-- These nights and the later ones of their audits, in the order of their beginning.
with firsts as (
    select
        audit_id,
        min(started_at) as started_at
    from marts.dim_groups
    where list_contains($runs, audit_run_id)
    group by audit_id
)

select nights.audit_run_id
from marts.dim_groups as nights
inner join firsts on nights.audit_id = firsts.audit_id and nights.started_at >= firsts.started_at
group by nights.audit_run_id
order by min(nights.started_at), nights.audit_run_id
