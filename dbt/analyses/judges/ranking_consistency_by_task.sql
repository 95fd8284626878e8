-- How alike templates rank models under each scoring method, for all models and for the sets that the card names: one row per
-- task, set and method of each audit's newest run, a judge's figure beside the rule's.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
),

rules as (
    select distinct
        audit_run_id,
        task_id,
        rule
    from {{ ref('rpt_scoring_across_tasks') }}
    where rule is not null
    qualify row_number() over (partition by audit_run_id, task_id order by rule) = 1
)

select
    newest.audit_id,
    found.task_id,
    found.model_set,
    found.n_models,
    found.scoring_method,
    found.mean_spearman,
    by_rule.mean_spearman as mean_spearman_of_rule,
    found.mean_spearman - by_rule.mean_spearman as difference,
    found.mean_spearman_corrected,
    found.mean_spearman_corrected_low,
    found.mean_spearman_corrected_high,
    found.mean_spearman_textbook,
    found.n_variants as n_templates,
    found.n_pairs,
    found.n_undefined_pairs,
    found.is_of_few_models
from {{ ref('fct_ranking_consistency') }} as found
inner join newest using (audit_run_id)
left join rules using (audit_run_id, task_id)
left join {{ ref('fct_ranking_consistency') }} as by_rule
    on
        found.audit_run_id = by_rule.audit_run_id
        and found.task_id = by_rule.task_id
        and found.model_set = by_rule.model_set
        and rules.rule = by_rule.scoring_method
order by
    found.task_id, found.model_set != 'all', found.model_set, starts_with(found.scoring_method, 'judge:'), found.scoring_method,
    newest.audit_id
