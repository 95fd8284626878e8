select
    started_at,
    (
        select seal from raw.seals
        where audit_run_id = $run
        order by seal_index desc limit 1
    ) as seal
from raw.audit_runs
where audit_run_id = $run
