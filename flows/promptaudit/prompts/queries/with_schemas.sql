-- The answers among some of a run whose prompt had the schema in it.
select prediction_id
from raw.predictions
where
    audit_run_id = $run
    and list_contains($prediction_ids::varchar[], prediction_id)
    and (sampling ->> 'schema_in_prompt')::boolean
