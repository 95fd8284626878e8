select count(*) as n_checks
from raw.format_checks
where
    audit_run_id = $run
    and checked_at = (
        select max(newest.checked_at) from raw.format_checks as newest
        where newest.audit_run_id = $run
    )
