-- How the alarms of an audit's nights ended, the most common way first
select
    coalesce(ended_by, 'standing') as ended_by,
    count(*) as n
from marts.rpt_alarms
where audit_id = $audit
group by all
order by n desc, ended_by asc
