-- One row per night, model, task and strategy: of the nights that it is held against the newest that asked half as many of its
-- samples as any.
{{ config(materialized='view') }}
with used as {{ all_of('int_nights_in_use', where='is_reference') }},

shared as (
    select
        audit_run_id,
        other_run_id,
        task_id,
        count(*) as n_shared
    from {{ ref('int_samples_kept').include(database=false) }}
    where is_asked_tonight and not is_of_judge
    group by all
),

counted as (
    select
        used.*,
        coalesce(shared.n_shared, 0) as n_shared,
        max(coalesce(shared.n_shared, 0)) over (
            partition by used.audit_run_id, used.model_id, used.task_id, used.strategy
        ) as most_shared
    from used
    left join shared using (audit_run_id, other_run_id, task_id)
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        arg_min(other_run_id, age) as normal_run_id,
        any_value(is_pinned) as is_pinned
    from counted
    where 2 * n_shared >= most_shared
    group by all
)

select * from final
