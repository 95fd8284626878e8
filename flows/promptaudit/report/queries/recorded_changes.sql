-- What the last of the runs that this one was compared with recorded otherwise.
select found.*
from marts.rpt_run_changes as found
where found.comparison_id = $comparison
order by found.model_id nulls first, found.task_id nulls first, found.what
