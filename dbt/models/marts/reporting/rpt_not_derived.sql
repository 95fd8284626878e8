-- One row per run, comparison, measure and group that a build has no figure of, and why: its function raised, or the figure broke
-- a rule and is NULL where it stood.
{{ config(materialized='view', contract={'enforced': false}) }}
with missing as {{ all_of('stg_not_derived') }},

final as (
    select distinct
        audit_run_id,
        comparison_id,
        model_id,
        task_id,
        strategy,
        measure,
        relation,
        reason
    from missing
)

select * from final
