-- one row a task and error that a reader of the user's own raised
select
    task_id,
    unread_because,
    count(*) as n_answers
from intermediate.int_predictions_labelled
where audit_run_id = $run and starts_with(unread_because, 'its reader raised ')
group by all
order by all
