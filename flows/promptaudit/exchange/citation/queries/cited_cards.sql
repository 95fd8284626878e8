-- One row per card of a run that a later one may have taken the place of, as it landed last.
with landed as (
    select
        'tasks' as kind,
        task_id as id,
        card,
        recorded_at
    from raw.tasks
    where audit_run_id = $run
    union all
    select
        'models' as kind,
        model_id as id,
        card,
        null as recorded_at
    from raw.models
    where audit_run_id = $run
    union all
    select
        'judges' as kind,
        judge_id as id,
        card,
        recorded_at
    from raw.judges
    where audit_run_id = $run
)

select
    kind,
    id,
    arg_max(card, coalesce(recorded_at, '-infinity'::timestamp)) as card
from landed
group by all
order by all
