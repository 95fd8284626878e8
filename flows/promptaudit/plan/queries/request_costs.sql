-- what one request of a run took, by model, task and strategy; its model's answers a second
-- a pause of more than a minute is no asking: the run was interrupted, or waited
with landed as (
    select
        *,
        date_diff('microsecond', lag(landed_at) over (partition by model_id order by landed_at), landed_at) / 1e6 as pause_s
    from marts.fct_predictions
    where audit_run_id = $run
),

rates as (
    select
        model_id,
        count(*) filter (pause_s <= 60) / nullif(sum(pause_s) filter (pause_s <= 60), 0) as answers_a_second
    from landed
    group by all
)

select
    landed.model_id,
    landed.task_id,
    landed.strategy,
    avg(landed.prompt_tokens) as prompt_tokens,
    avg(landed.completion_tokens) as completion_tokens,
    any_value(rates.answers_a_second) as answers_a_second
from landed
inner join rates using (model_id)
group by all
order by landed.model_id, landed.task_id, landed.strategy
