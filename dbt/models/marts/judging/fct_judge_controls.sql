-- One row per run, task, judge and kind of control: how often it rules wrong where the verdict is known.
select
    counted.audit_run_id,
    controls.task_id,
    counted.rater as scoring_method,
    controls.kind,
    count(*)::integer as n_controls,
    (count(*) filter (counted.is_match is not null))::integer as n_scored,
    (count(*) filter (counted.is_match != controls.is_match))::integer as n_wrong,
    avg((counted.is_match != controls.is_match)::integer) as error_rate,
    {{ measure_version() }}
from {{ ref('int_verdicts_counted') }} as counted
inner join {{ ref('stg_judge_controls') }} as controls using (audit_run_id, control_id)
where {{ in_this_build('counted.audit_run_id') }} and {{ in_this_build('controls.audit_run_id') }}
group by all
