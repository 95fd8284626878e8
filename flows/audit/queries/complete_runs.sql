-- complete runs of an audit that its models were asked in
select
    audit_run_id,
    started_at,
    ((json_extract(card, '$.audits')::map (varchar, json))[audit_id] ->> '$.design.wordings_per_sample')::bigint
        as wordings_per_sample
from marts.dim_audit_runs
where audit_id = $audit_id and origin = 'run' and state = 'complete'
