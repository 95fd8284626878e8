-- Of each night of the audit its scorecard: the section on nights prints the measures that are drawn over the nights.
select found.*
from marts.rpt_audit as found
inner join nights using (audit_run_id)
order by nights.run_index
