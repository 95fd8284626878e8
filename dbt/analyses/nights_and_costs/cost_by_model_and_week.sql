-- What the answers of each model cost in each week, which begins on a Monday (UTC), over all runs; what it cost as a judge is not
-- in it, nor are answers without a price, which `n_without_cost` counts.
select
    model_id,
    date_trunc('week', runs.started_at)::date as week,
    count(distinct audit_run_id) as n_runs,
    count(*) as n_predictions,
    sum(predictions.prompt_tokens)::bigint as prompt_tokens,
    sum(predictions.completion_tokens)::bigint as completion_tokens,
    sum(predictions.cost_usd) as cost_usd,
    count(*) filter (predictions.cost_usd is null) as n_without_cost
from {{ ref('fct_predictions') }} as predictions
inner join {{ ref('dim_audit_runs') }} as runs using (audit_run_id)
group by all
order by week desc, model_id asc
