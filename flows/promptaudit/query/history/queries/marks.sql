-- What people said of each night, and where something else was asked than on the night before.
select
    acceptances.audit_run_id,
    acceptances.model_id,
    acceptances.task_id,
    acceptances.strategy,
    if(acceptances.is_false, 'accepted as chance', 'accepted') as mark
from raw.acceptances as acceptances
semi join nights using (audit_run_id)
union
select
    waivers.audit_run_id,
    waivers.model_id,
    waivers.task_id,
    waivers.strategy,
    'accepted until ' || waivers.valid_until::date as mark
from raw.waivers as waivers
semi join nights using (audit_run_id)
union
select
    baselines.audit_run_id,
    null as model_id,
    null as task_id,
    null as strategy,
    'pinned ' || baselines.name as mark
from raw.baselines as baselines
semi join nights using (audit_run_id)
union
select
    states.audit_run_id,
    states.model_id,
    states.task_id,
    states.strategy,
    'asked otherwise' as mark
from marts.rpt_night_states as states
inner join marts.rpt_night_states as before
    on
        states.audit_id = before.audit_id
        and states.model_id = before.model_id
        and states.task_id = before.task_id
        and states.strategy = before.strategy
inner join raw.audit_runs as of_this on states.audit_run_id = of_this.audit_run_id
inner join raw.audit_runs as of_before on before.audit_run_id = of_before.audit_run_id
semi join nights on states.audit_run_id = nights.audit_run_id
where states.night = 1 and of_this.run_index > of_before.run_index
order by all
