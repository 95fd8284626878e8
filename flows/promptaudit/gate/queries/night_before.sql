-- by its time: the run that is held against the gate may be unfinished or unpublished.
select audit_run_id
from dim_nights
where
    audit_id = $audit_id and origin = $origin
    and (started_at, audit_run_id) < ($started_at, $audit_run_id)
order by started_at desc, audit_run_id desc
limit 1
