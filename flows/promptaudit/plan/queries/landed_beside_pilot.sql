-- cells of a run that have landed and are none of its pilot's
select count(*) as n
from raw.predictions
where
    audit_run_id = $run
    and not (
        list_contains($samples, task_id || ' ' || sample_id)
        and list_contains($asks, prompt_variant_id || ' ' || repetition)
    )
