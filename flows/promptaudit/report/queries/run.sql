select
    *,
    (
        select seal from raw.seals
        where audit_run_id = $run
        order by seal_index desc limit 1
    ) as seal
from marts.dim_audit_runs
where audit_run_id = $run
