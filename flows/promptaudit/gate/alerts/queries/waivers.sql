select
    rule,
    model_id,
    task_id,
    strategy,
    measure,
    accepted_at
from raw.waivers
where audit_id = $audit_id and valid_until > $now
order by accepted_at, waiver_id
