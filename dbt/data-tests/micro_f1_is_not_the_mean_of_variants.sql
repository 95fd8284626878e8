-- Would catch what happened: with cells missing, variants' accuracies weighed answers and micro_f1 weighed samples, and
-- the scorecard's figure could not be traced to its variants.
{{ config(severity='warn', meta={'relation': 'marts.rpt_audit', 'figure': 'micro_f1'}) }}
with averaged as (
    select
        accuracies.audit_run_id,
        accuracies.model_id,
        accuracies.task_id,
        accuracies.strategy,
        avg(accuracies.accuracy) as accuracy_averaged
    from {{ ref('fct_variant_accuracy') }} as accuracies
    where list_contains({{ label_rules() }}, accuracies.scoring_method) and {{ in_this_build('accuracies.audit_run_id') }}
    group by all
),

scorecards as (
    select
        cards.audit_run_id,
        cards.model_id,
        cards.task_id,
        cards.strategy,
        cards.micro_f1
    from {{ ref('rpt_audit') }} as cards
    inner join {{ ref('stg_tasks') }} as tasks using (audit_run_id, task_id)
    -- micro-F1 is of labels; other rules have none
    where list_has_any(tasks.scoring_methods, {{ label_rules() }}) and {{ in_this_build('cards.audit_run_id') }}
)

select
    scorecards.*,
    averaged.accuracy_averaged
from scorecards
left join averaged using (audit_run_id, model_id, task_id, strategy)
where
    -- where the function of one of them failed on the group, that is reported already
    abs(scorecards.micro_f1 - averaged.accuracy_averaged) > 1e-9
