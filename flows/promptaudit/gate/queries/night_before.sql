-- by its place: the run that is held against the gate may be unfinished or unpublished.
select audit_run_id
from dim_nights
where audit_id = $audit_id and origin = $origin and run_index < $run_index
order by run_index desc
limit 1
