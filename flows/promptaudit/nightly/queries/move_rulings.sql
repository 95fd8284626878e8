-- Moves rulings from answers that will be exchanged to others that say the same to the same question.
with moved as (
    select
        own.prediction_id,
        min(other.prediction_id) as other_id
    from raw.predictions as own
    inner join raw.predictions as other using (audit_run_id, task_id, sample_id, completion)
    where
        own.audit_run_id = $run
        and list_contains($wrong, own.prediction_id)
        and not list_contains($wrong, other.prediction_id)
    group by all
)

update raw.verdicts
set prediction_id = moved.other_id
from moved
where
    verdicts.audit_run_id = $run
    and verdicts.prediction_id = moved.prediction_id
    and verdicts.other_prediction_id is null
