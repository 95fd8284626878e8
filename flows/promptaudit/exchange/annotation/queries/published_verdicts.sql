select
    count(*) filter (list_contains($verdicts, verdict_id)) as n_published,
    count(*) as n_rows
from marts.fct_verdicts
where audit_run_id = $run
