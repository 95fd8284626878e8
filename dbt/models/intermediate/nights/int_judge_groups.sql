-- One row per run, judge and task, shaped like a model's group: which judge it is, as one hash, and on how many anchors it ruled.
-- Where there are fewer anchors than can be tested, the questions count on whose answers it ruled.
{{ config(materialized='view') }}
with judges as {{ of_this_build('stg_judges') }},

anchors as {{ of_this_build('fct_judge_anchors') }},

verdicts as {{ of_this_build('int_verdicts_counted', where="starts_with(rater, 'judge:') and prediction_id is not null") }},

members as (
    select
        audit_run_id,
        judge_id,
        unnest(from_json(panel, '["VARCHAR"]')) as member
    from judges
    where panel is not null
),

keys as (
    select
        judges.audit_run_id,
        'judge:' || judges.judge_id as model_id,
        md5(concat_ws(
            chr(0),
            any_value(judges.judge_key),
            string_agg(seats.judge_key, chr(0) order by seats.judge_id)
        )) as plan
    from judges
    left join members using (audit_run_id, judge_id)
    left join judges as seats
        on members.audit_run_id = seats.audit_run_id and members.member = seats.judge_id
    group by all
),

anchored as (
    select
        audit_run_id,
        scoring_method as model_id,
        task_id,
        count(*) as n_anchors,
        count(is_match) as n_anchors_ruled
    from anchors
    group by all
),

answered as (
    select
        audit_run_id,
        rater as model_id,
        task_id,
        count(distinct sample_id) as n_questions,
        count(distinct if(is_match is not null, sample_id, null)) as n_questions_ruled
    from verdicts
    group by all
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        'anchors' as strategy,
        keys.plan,
        1::bigint as n_wordings,
        if(coalesce(anchored.n_anchors, 0) >= 10, anchored.n_anchors, answered.n_questions) as n_samples,
        if(coalesce(anchored.n_anchors, 0) >= 10, anchored.n_anchors_ruled, answered.n_questions_ruled) as n_samples_counted
    from answered
    full join anchored using (audit_run_id, model_id, task_id)
    inner join keys using (audit_run_id, model_id)
    where coalesce(anchored.n_anchors, 0) >= 10 or answered.n_questions is not null
)

select * from final
