select audit_run_id
from marts.rpt_night_states
inner join raw.audit_runs using (audit_run_id, audit_id)
where audit_id = $audit_id
order by run_index desc
limit 1
