-- One row per run, task, judge and anchor: an answer with a known verdict, and how the judge ruled on it tonight.
with verdicts as {{ of_this_build('int_verdicts_counted') }},

anchors as {{ of_this_build('stg_judge_controls', where='kind in ' ~ kinds_of_anchors()) }},

final as (
    select
        verdicts.audit_run_id,
        anchors.task_id,
        verdicts.rater as scoring_method,
        anchors.control_id as anchor_id,
        anchors.sample_id,
        anchors.kind,
        if(anchors.kind = 'ruled', 'people', 'rule') as known_by,
        verdicts.is_match,
        anchors.is_match as is_match_known,
        verdicts.is_match::integer - anchors.is_match::integer as difference,
        {{ measure_version() }}
    from verdicts
    inner join anchors using (audit_run_id, control_id)
)

select * from final
