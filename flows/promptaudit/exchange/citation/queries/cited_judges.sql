-- One row per judge of a run: the model that ruled, or the panel.
select
    judge_id,
    arg_max(coalesce(model_id, panel), recorded_at) as ruled_by
from raw.judges
where audit_run_id = $run
group by all
order by judge_id
