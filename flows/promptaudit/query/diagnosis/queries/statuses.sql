select
    answers.answer_status || coalesce(' (' || nullif(scores.reason, answers.answer_status) || ')', '') as answer_status,
    count(*) as n
from marts.fct_predictions as answers
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
left join marts.fct_scores as scores
    on
        answers.audit_run_id = scores.audit_run_id
        and answers.prediction_id = scores.prediction_id
        and tasks.scoring_methods[1] = scores.scoring_method
        and tasks.kind in ('classification', 'multiple_choice')
where
    answers.audit_run_id = $run and answers.model_id = $model and answers.task_id = $task and answers.strategy = $strategy
    and answers.answer_status not in ('error', 'valid')
group by all
order by n desc, answer_status asc
