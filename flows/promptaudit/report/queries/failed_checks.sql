-- the newest check of a run holds, as in the marts; checks have no mart of their own
select
    expectation,
    model_id,
    task_id,
    prompt_variant_id,
    observed,
    allowed,
    policy,
    action,
    left(reason, $long) as reason,
    count(*) over () as n_failed
from raw.format_checks
where
    audit_run_id = $run and not is_success
    and checked_at = (
        select max(newest.checked_at) from raw.format_checks as newest
        where newest.audit_run_id = $run
    )
order by action != 'failed', observed - allowed desc, task_id, model_id asc, prompt_variant_id asc, expectation asc
limit $most_rows
