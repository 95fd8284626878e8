-- One row per run, model, task and strategy: what became of its answers and what they took.
with predictions as {{ of_this_build('fct_predictions') }},

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(*) as n_answers,
        count(*) filter (answer_status = 'valid') as n_valid,
        count(*) filter (answer_status = 'empty') as n_empty,
        count(*) filter (answer_status = 'truncated') as n_truncated,
        count(*) filter (answer_status = 'refused') as n_refused,
        count(*) filter (answer_status = 'unparsed') as n_unparsed,
        count(*) filter (answer_status = 'error') as n_error,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        sum(cost_usd) as cost_usd,
        count(cost_usd) as n_priced,
        count(latency_ms) as n_timed,
        quantile_cont(latency_ms, 0.25) as latency_p25_ms,
        quantile_cont(latency_ms, 0.5) as latency_p50_ms,
        quantile_cont(latency_ms, 0.75) as latency_p75_ms,
        quantile_cont(latency_ms, 0.95) as latency_p95_ms,
        avg(n_attempts) as attempts_mean,
        max(n_attempts) as attempts_max,
        count(*) filter (n_attempts > 1) as n_retried,
        {{ measure_version() }}
    from predictions
    group by all
)

select * from final
