select
    answer_status,
    count(*) as n
from marts.fct_predictions
where
    audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy
    and answer_status not in ('error', 'valid')
group by all
order by n desc, answer_status asc
