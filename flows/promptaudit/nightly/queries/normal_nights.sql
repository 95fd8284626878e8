-- The newest normal night of most groups, and those from before an alarm, which say what changed since; two at most.
select normal_run_id as audit_run_id
from marts.rpt_night_figures
where audit_run_id = $run and normal_run_id is not null
group by normal_run_id
order by count(*) filter (since_run_id is not null) desc, count(*) desc, normal_run_id asc
limit 2
