-- One row per comparison, model, task, strategy and side (0 the base, 1 the candidate) of groups held together.
with paired as {{ all_of('int_groups_paired', where='reason is null') }},

final as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        0 as side,
        base_run_id as audit_run_id,
        base_model_id as own_model_id,
        base_strategy as own_strategy
    from paired
    union all
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        1 as side,
        candidate_run_id as audit_run_id,
        model_id as own_model_id,
        strategy as own_strategy
    from paired
)

select * from final
