-- How many answers these runs have, or all runs where none is named
select count(*) as n
from raw.predictions
where len($runs) = 0 or list_contains($runs, audit_run_id)
