-- What was said last of something that was asked and has no answer.
select error
from raw.attempts
where
    audit_run_id = $run
    and prediction_id not in (
        select prediction_id from raw.predictions
        where audit_run_id = $run
    )
    and prediction_id not in (
        select verdict_id from raw.verdicts
        where audit_run_id = $run
    )
    and prediction_id not in (
        select rephrasing_id from raw.rephrasings
        where audit_run_id = $run
    )
order by attempted_at desc
limit 1
