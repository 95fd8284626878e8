-- complete runs of an audit, of these origins
select
    audit_run_id,
    started_at,
    ((json_extract(card, '$.audits')::map (varchar, json))[audit_id] ->> '$.design.wordings_per_sample')::bigint
        as wordings_per_sample
from marts.dim_audit_runs
where audit_id = $audit_id and list_contains($origins, origin) and state = 'complete'
