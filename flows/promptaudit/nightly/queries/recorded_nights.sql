-- One row per model, task and strategy of the newest night of an audit: its state, and its normal nights whose answers are here.
with states as (
    select
        states.*,
        runs.run_index
    from marts.rpt_night_states as states
    inner join raw.audit_runs as runs using (audit_run_id)
    where states.audit_id = $audit
),

newest as (
    select * from states
    qualify run_index = max(run_index) over ()
),

landed as (
    select distinct audit_run_id from raw.predictions
)

select
    newest.model_id,
    newest.task_id,
    newest.strategy,
    newest.state,
    newest.started_at,
    len(newest.memory.normal) as n_normal,
    list(landed.audit_run_id order by nights.night) filter (landed.audit_run_id is not null) as runs
from newest
inner join states as nights
    on
        newest.model_id = nights.model_id
        and newest.task_id = nights.task_id
        and newest.strategy = nights.strategy
        and newest.plan = nights.plan
left join landed
    on nights.audit_run_id = landed.audit_run_id and list_contains(newest.memory.normal, nights.night)
group by all
order by all
