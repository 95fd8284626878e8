select comparison_id
from raw.comparisons
where
    base_run_id = $base and candidate_run_id = $candidate and not is_trial
    and base_model_id is not distinct from $base_model_id and candidate_model_id is not distinct from $candidate_model_id
    and base_strategy is not distinct from $base_strategy and candidate_strategy is not distinct from $candidate_strategy
order by requested_at desc, comparison_id asc
