select
    audit_run_id,
    task_id,
    scoring_method,
    kind,
    n_controls,
    n_scored,
    n_wrong,
    error_rate
from marts.fct_judge_controls
where audit_run_id = $run
order by task_id, scoring_method, list_position(['right', 'wrong', 'blank', 'injected'], kind)
