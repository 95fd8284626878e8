select
    audit_run_id,
    task_id,
    scoring_method,
    n_anchors,
    n_ruled,
    n_known_by_people,
    n_too_harsh,
    n_too_mild,
    judge_agreement,
    judge_agreement_low,
    judge_agreement_high
from marts.rpt_judge_anchors
where audit_run_id = $run
order by task_id, scoring_method
