select
    task_id,
    card
from raw.tasks
where audit_run_id = $run
qualify row_number() over (partition by task_id order by recorded_at desc nulls last) = 1
order by task_id
