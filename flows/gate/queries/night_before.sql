-- by its time: the run that is held against the gate may be unfinished or unpublished. One that stopped early is no base
select audit_run_id
from dim_nights
where
    audit_id = $audit_id and origin = $origin
    and not list_contains($stopped::varchar[], audit_run_id)
    and (started_at, audit_run_id) < ($started_at, $audit_run_id)
order by started_at desc, audit_run_id desc
limit 1
