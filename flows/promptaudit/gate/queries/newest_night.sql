select audit_run_id
from marts.rpt_night_states
where audit_id = $audit_id
order by started_at desc, audit_run_id desc
limit 1
