-- What each run cost, by model, newest first: money, tokens and time; cost is NULL where no price is known.
with costs as (
    select
        audit_run_id,
        model_id,
        count(*) as n_predictions,
        count(*) filter (answer_status = 'error') as n_errors,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        sum(cost_usd) as cost_usd,
        count(*) filter (cost_usd is null) as n_without_cost,
        median(latency_ms) as median_latency_ms
    from {{ ref('fct_predictions') }}
    group by all
)

select
    runs.audit_id,
    runs.started_at,
    runs.audit_run_id,
    costs.model_id,
    costs.n_predictions,
    costs.n_errors,
    costs.prompt_tokens,
    costs.completion_tokens,
    costs.cost_usd,
    1000 * costs.cost_usd / nullif(costs.n_predictions - costs.n_without_cost, 0) as usd_per_thousand,
    costs.n_without_cost,
    costs.median_latency_ms
from costs
inner join {{ ref('dim_audit_runs') }} as runs using (audit_run_id)
order by runs.run_index desc, costs.model_id asc
