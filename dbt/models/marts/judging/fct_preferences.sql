-- One row per run, model, task, strategy and judge of pairs: how often the model's answers are preferred to those of another
-- model to the same prompts.
with pairs as {{ of_this_build('int_pairs_ruled') }},

numbered as {{ variants_numbered('pairs') }},

measured as (
    select
        pairs.audit_run_id,
        pairs.model_id,
        pairs.task_id,
        pairs.strategy,
        pairs.scoring_method,
        any_value(pairs.against) as against,
        try_two_way_interval(
            {{ group_keys('pairs') }},
            list(pairs.sample_index) filter (pairs.value is not null),
            list(numbered.variant) filter (pairs.value is not null),
            list(pairs.value) filter (pairs.value is not null),
            list(numbered.variant) filter (pairs.value is not null)
        ) as preferred,
        count(*)::integer as n_pairs,
        count(pairs.value)::integer as n_ruled,
        avg((pairs.value = 0.5)::integer) as tie_rate,
        count(*) filter (pairs.is_by_order) / nullif(count(pairs.value), 0) as order_rate
    from pairs
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
    group by all
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        against,
        preferred.mean as preferred_rate,
        preferred.low as preferred_rate_low,
        preferred.high as preferred_rate_high,
        preferred.std as preferred_rate_std,
        tie_rate,
        order_rate,
        n_pairs,
        n_ruled,
        {{ measure_version() }}
    from measured
)

select * from final
