-- One row per run, judge, task and wording of the judge's rubric: how it rules under it on the answers that it ruled on under
-- every wording, and how far that is as under the rubric as it is written, and as people rule.
{{ config(pre_hook='{{ delete_in_this_build() }}') }}
with verdicts as {{ of_this_build('int_rubric_verdicts') }},

rubrics as {{ of_this_build('int_judge_rubrics') }},

people as {{ of_this_build('int_answers_rated', where="kind = 'people'") }},

pairs as (
    select
        others.audit_run_id,
        others.task_id,
        others.scoring_method,
        others.wording_index,
        others.item,
        unnest([0, 1]) as rater,
        unnest([as_written.ruling_index, others.ruling_index]) as ruling_index
    from verdicts as others
    inner join verdicts as as_written
        on
            others.audit_run_id = as_written.audit_run_id
            and others.task_id = as_written.task_id
            and others.scoring_method = as_written.scoring_method
            and others.item = as_written.item
            and as_written.wording_index = 0
    where others.wording_index > 0
),

agreements as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        wording_index,
        try_rater_agreement(
            {{ told_as(keys=['audit_run_id', 'task_id']) }},
            list(item), list(rater), list(ruling_index)
        ) as agreement
    from pairs
    group by all
),

counted as (
    select
        verdicts.audit_run_id,
        verdicts.task_id,
        verdicts.scoring_method,
        verdicts.wording_index,
        count(*)::integer as n_ruled,
        (count(*) filter (verdicts.ruling = 'none'))::integer as n_unreadable,
        avg((verdicts.ruling = 'match')::integer) filter (verdicts.ruling != 'none') as match_rate,
        count(people.is_match)::integer as n_ruled_by_people,
        avg((people.is_match = (verdicts.ruling = 'match'))::integer) filter (verdicts.ruling != 'none') as people_agreement_rate
    from verdicts
    left join people using (audit_run_id, task_id, answer)
    group by all
),

final as (
    select
        counted.audit_run_id,
        counted.task_id,
        counted.scoring_method,
        counted.wording_index,
        rubrics.rubric,
        counted.n_ruled,
        counted.n_unreadable,
        counted.match_rate,
        agreements.agreement.agreement_rate as agreement_rate,
        agreements.agreement.cohen_kappa as cohen_kappa,
        counted.n_ruled_by_people,
        counted.people_agreement_rate,
        {{ measure_version() }}
    from counted
    left join agreements using (audit_run_id, task_id, scoring_method, wording_index)
    inner join rubrics
        on
            counted.audit_run_id = rubrics.audit_run_id
            and counted.scoring_method = 'judge:' || rubrics.judge_id
            and counted.wording_index = rubrics.wording_index
)

select * from final
