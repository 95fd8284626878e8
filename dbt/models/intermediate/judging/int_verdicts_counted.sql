-- One row per run, rater and answer or control that was ruled on: the majority of a rater's repetitions, of a panel, or of
-- the persons who ruled (`people`).
-- A tie decides nothing; a verdict that could not be read is no vote. A panel rules on the tasks of its card alone.
with verdicts as {{ of_this_build('int_verdicts_read') }},

judges as {{ of_this_build('stg_judges', where='panel is not null') }},

controls as {{ of_this_build('stg_judge_controls') }},

votes as (
    select
        audit_run_id,
        rater,
        min(prediction_id) as prediction_id,
        control_id,
        task_id,
        sample_id,
        completion_md5,
        reader,
        count(*) filter (is_match) as n_match,
        count(*) filter (not is_match) as n_no_match,
        avg(score) as score,
        min(unscored_because) as unscored_because
    from verdicts
    group by all
),

raters as (
    select
        *,
        n_match > n_no_match as is_majority,
        n_match != n_no_match as is_decided
    from votes
),

panels as (
    select
        audit_run_id,
        'judge:' || judge_id as rater,
        'judge:' || unnest(from_json(panel, '["VARCHAR"]')) as member,
        task_ids
    from judges
    union all by name
    select distinct
        audit_run_id,
        'people' as rater,
        rater as member
    from votes
    where starts_with(rater, 'person:')
),

panel_votes as (
    select
        raters.audit_run_id,
        panels.rater,
        min(raters.prediction_id) as prediction_id,
        raters.control_id,
        raters.task_id,
        raters.sample_id,
        raters.completion_md5,
        raters.reader,
        count(*) filter (raters.is_decided and raters.is_majority) as n_match,
        count(*) filter (raters.is_decided and not raters.is_majority) as n_no_match,
        min(raters.unscored_because) as unscored_because
    from raters
    inner join panels
        on raters.audit_run_id = panels.audit_run_id and raters.rater = panels.member
    left join controls
        on raters.audit_run_id = controls.audit_run_id and raters.control_id = controls.control_id
    where
        panels.task_ids is null
        or list_contains(panels.task_ids, coalesce(raters.task_id, controls.task_id))
    group by all
),

everybody as (
    select * exclude (is_majority, is_decided) from raters
    union all by name
    select * from panel_votes
),

final as (
    select
        * exclude (unscored_because),
        if(n_match = n_no_match, null, n_match > n_no_match) as is_match,
        case
            when n_match != n_no_match or score is not null then null
            when n_match > 0 then 'tie'
            else coalesce(unscored_because, 'tie') -- of a panel whose members are all undecided
        end as unscored_because
    from everybody
)

select * from final
