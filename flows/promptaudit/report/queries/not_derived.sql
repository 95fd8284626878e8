select count(*) as n
from marts.rpt_not_derived
where audit_run_id = $run and comparison_id is null
