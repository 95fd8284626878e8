select
    coalesce(prediction_id, control_id, prompt_variant_id) as judged_id,
    repetition,
    max(ask) as ask
from raw.verdicts
where audit_run_id = $run and judge_id = $judge and judge_key = $key
group by all
having not bool_or(is_settled)
