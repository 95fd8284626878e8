-- the wordings of the newest judge whose rubric one rephraser reworded: of one run alone, where that is given
with newest as (
    select
        wordings.audit_run_id,
        wordings.judge_id,
        wordings.judge_key
    from raw.judge_wordings as wordings
    inner join raw.audit_runs as runs using (audit_run_id)
    where wordings.rephrasing_key = $key and wordings.audit_run_id = coalesce($run, wordings.audit_run_id)
    order by runs.started_at desc, wordings.landed_at desc, wordings.judge_id asc
    limit 1
)

select
    wording_index as variant_index,
    rubric as instruction,
    refused_because
from raw.judge_wordings
inner join newest using (audit_run_id, judge_id, judge_key)
where rephrasing_key = $key
order by refused_because is not null, abs(wording_index)
