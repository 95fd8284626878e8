-- One row per run, model, task, strategy and sample with a gold label: its mean consistency with the others of its class.
with by_gold as {{ of_this_build('int_p_tau_by_gold') }},

compared as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        unnest(try_mean_consistency(
            {{ group_keys() }},
            list(gold_index), list(sample_index), list(label_index), list(p_tau)
        )) as pair
    from by_gold
    group by audit_run_id, model_id, task_id, strategy
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        pair.sample as sample_index,
        pair.mean_consistency as mean_consistency
    from compared
)

select * from final
