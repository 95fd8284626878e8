-- Would catch a pooled consistency that averages classes instead of pairs, or samples that fall between classes.
{{ config(severity='warn', meta={'relation': 'marts.rpt_audit', 'figure': 'consistency'}) }}
with pooled as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sum(consistency * n_samples * n_samples) / sum(n_samples * n_samples) as consistency_pooled
    from {{ ref('fct_consistency') }}
    where {{ in_this_build() }}
    group by all
),

scorecards as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        consistency
    from {{ ref('rpt_audit') }}
    where {{ in_this_build() }}
)

select
    scorecards.*,
    pooled.consistency_pooled
from scorecards
left join pooled using (audit_run_id, model_id, task_id, strategy)
-- where the function of one of them failed on the group, that is reported already
where abs(scorecards.consistency - pooled.consistency_pooled) > 1e-9
