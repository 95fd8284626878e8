-- beside each judge how sensitive the models are to the wording of that task, under whichever strategy
with models as (
    select
        task_id,
        min(sensitivity) as model_sensitivity_min,
        max(sensitivity) as model_sensitivity_max
    from marts.rpt_audit
    where audit_run_id = $run
    group by all
)

select *
from marts.rpt_judge_wordings
left join models using (task_id)
where audit_run_id = $run
order by task_id, scoring_method
