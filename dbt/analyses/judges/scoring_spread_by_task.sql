-- Accuracy over templates, mean and standard deviation (ddof 1), under the rule and under each judge in each audit's newest run:
-- a row a task, scoring method and model, with what people would say of a judge's answers where they ruled on some
-- (accuracy_rectified), and how alike the templates rank all models. Audits of one benchmark each make the same rows as one audit
-- of all.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
),

spreads as (
    select * from {{ ref('fct_scoring_sensitivity') }}
),

rankings as (
    select * from {{ ref('fct_ranking_consistency') }}
    where model_set = 'all'
)

select
    found.task_id,
    found.kind,
    found.scoring_method,
    found.model_id,
    found.accuracy_mean,
    found.accuracy_std_sample,
    found.accuracy_std_corrected,
    found.accuracy_std_corrected_low,
    found.accuracy_std_corrected_high,
    spreads.accuracy_rectified,
    spreads.accuracy_rectified_low,
    spreads.accuracy_rectified_high,
    spreads.n_ruled,
    found.rule,
    found.mean_difference,
    found.std_difference,
    found.rank_of_mean,
    found.rank_of_std,
    found.is_best and found.n_ranked > 1 as is_best,
    found.is_steadiest and found.n_ranked > 1 as is_steadiest,
    found.is_reference,
    rankings.mean_spearman,
    found.n_variants as n_templates,
    found.n_samples,
    newest.audit_id
from {{ ref('rpt_scoring_across_tasks') }} as found
inner join newest using (audit_run_id)
left join spreads using (audit_run_id, task_id, scoring_method, model_id)
left join rankings using (audit_run_id, task_id, scoring_method)
where found.accuracy_mean is not null
order by
    found.task_id, list_position(['rule', 'judge', 'people'], found.kind), found.scoring_method, found.is_reference,
    found.model_id, newest.audit_id
