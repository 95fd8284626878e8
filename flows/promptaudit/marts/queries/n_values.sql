-- How many values these runs have answered, or all runs where none is named: of extraction one a field and one for all of them
with answers as (
    select
        audit_run_id,
        task_id,
        count(*) as n_answers
    from raw.predictions
    where len($runs) = 0 or list_contains($runs, audit_run_id)
    group by all
),

fields as (
    select
        audit_run_id,
        task_id,
        max(len(json_keys(reader, '$.fields'))) as n_fields
    from raw.tasks
    group by all
)

select coalesce(sum(answers.n_answers * (1 + coalesce(fields.n_fields, 0))), 0)::bigint as n
from answers
left join fields using (audit_run_id, task_id)
