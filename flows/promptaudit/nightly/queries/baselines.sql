select audit_run_id
from dim_baselines
where audit_id = $audit and audit_run_id != $run
