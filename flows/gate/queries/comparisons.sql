select comparison_id
from raw.comparisons
where
    coalesce(base_model_id, candidate_model_id, base_strategy, candidate_strategy) is null and not is_trial
    and base_run_id = $base and candidate_run_id = $candidate
order by requested_at desc, comparison_id asc
