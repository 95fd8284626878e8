-- Would catch what happened: a panel whose members all tied had no verdict and no reason, and passed for scored.
select
    audit_run_id,
    prediction_id,
    scoring_method,
    score_state
from {{ ref('fct_scores') }}
where (score_state = 'scored') != (score is not null) and {{ in_this_build() }}
