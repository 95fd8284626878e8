select
    suite,
    result,
    gx_version,
    checked_at
from raw.format_validations
where audit_run_id = $run
order by checked_at desc
limit 1
