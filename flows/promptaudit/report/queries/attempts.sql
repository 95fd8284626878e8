-- tries that failed have no mart of their own; what the provider said stays there, its status is enough here
select
    coalesce(said.task_id, 'other') as task_id,
    coalesce(said.model_id, 'other') as model_id,
    tries.http_status,
    count(*) as n_failed,
    count(distinct tries.prediction_id) as n_requests,
    sum(tries.waited_ms) / 1000 as waited_s
from raw.attempts as tries
left join marts.fct_predictions as said
    on said.audit_run_id = $run and tries.prediction_id = said.prediction_id
where tries.audit_run_id = $run
group by all
order by all
