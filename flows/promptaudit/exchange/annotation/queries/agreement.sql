select
    task_id,
    raters,
    kind,
    cohen_kappa,
    agreement_rate,
    n_rated
from marts.fct_judge_agreement
where audit_run_id = $run and kind in ('judge and people', 'judge and person', 'people and rule', 'person and rule')
order by task_id, kind, raters
