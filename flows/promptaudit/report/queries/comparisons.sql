select
    compared.*,
    by_rule.accuracy_std_sample as accuracy_std_rule,
    by_judge.accuracy_std_sample as accuracy_std_judge
from marts.rpt_rule_against_judge as compared
left join marts.fct_scoring_sensitivity as by_rule
    on
        by_rule.audit_run_id = $run and compared.task_id = by_rule.task_id and compared.model_id = by_rule.model_id
        and compared.rule = by_rule.scoring_method
left join marts.fct_scoring_sensitivity as by_judge
    on
        by_judge.audit_run_id = $run and compared.task_id = by_judge.task_id and compared.model_id = by_judge.model_id
        and compared.judge = by_judge.scoring_method
where compared.audit_run_id = $run
order by compared.task_id, compared.model_id, compared.rule, compared.judge
