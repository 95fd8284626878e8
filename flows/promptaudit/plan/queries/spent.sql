select
    (
        select coalesce(sum(cost_usd), 0) from raw.predictions
        where audit_run_id = $run
    )
    + (
        select coalesce(sum(cost_usd), 0) from raw.failed_predictions
        where audit_run_id = $run
    )
    + (
        select coalesce(sum(cost_usd), 0) from raw.rephrasings
        where audit_run_id = $run
    )
    + (
        select coalesce(sum(cost_usd), 0) from raw.verdicts
        where audit_run_id = $run
    ) as usd,
    (
        select count(*) from raw.predictions
        where audit_run_id = $run
    )
    + (
        select count(*) from raw.failed_predictions
        where audit_run_id = $run
    )
    + (
        select count(*) from raw.rephrasings
        where audit_run_id = $run
    )
    + (
        select count(*) from raw.verdicts
        where audit_run_id = $run and request_sha256 is not null
    )
    + (
        select count(*)
        from raw.attempts
        -- a try that found no connection is no request
        where audit_run_id = $run and not (http_status is null and regexp_matches(error, '^(ClientConnector|ConnectionTimeout)'))
    ) as n_requests
