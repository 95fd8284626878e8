-- One row per run, task, judge and kind of control: how often it rules wrong where the verdict is known. Of anchors see
-- fct_judge_anchors.
with verdicts as {{ of_this_build('int_verdicts_counted') }},

controls as {{ of_this_build('stg_judge_controls', where='kind not in ' ~ kinds_of_anchors()) }},

final as (
    select
        verdicts.audit_run_id,
        controls.task_id,
        verdicts.rater as scoring_method,
        controls.kind,
        count(*)::integer as n_controls,
        (count(*) filter (verdicts.is_match is not null))::integer as n_scored,
        (count(*) filter (verdicts.is_match != controls.is_match))::integer as n_wrong,
        avg((verdicts.is_match != controls.is_match)::integer) as error_rate,
        {{ measure_version() }}
    from verdicts
    inner join controls using (audit_run_id, control_id)
    group by all
)

select * from final
