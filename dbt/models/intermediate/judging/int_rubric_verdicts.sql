-- One row per run, judge, task, answer and wording of the judge's rubric: how the judge ruled on the answer under it, of the
-- answers that it ruled on under every wording. A verdict that could not be read is a way to rule too, as are as many for a match
-- as against one; an error of its provider is none.
with verdicts as {{ of_this_build(
    'int_verdicts_by_wording', where="control_id is null and unscored_because is distinct from 'error of the judge'"
) }},

rubrics as {{ of_this_build('int_judge_rubrics', where='n_wordings > 1') }},

counted as (
    select
        verdicts.audit_run_id,
        verdicts.task_id,
        verdicts.rater as scoring_method,
        {{ answer_key('verdicts.sample_id', 'verdicts.reader', 'verdicts.completion_md5') }} as answer,
        verdicts.wording_index,
        rubrics.n_wordings,
        count(*) filter (verdicts.is_match) as n_match,
        count(*) filter (not verdicts.is_match) as n_no_match,
        count(*) filter (verdicts.is_match is null) as n_unreadable
    from verdicts
    inner join rubrics
        on
            verdicts.audit_run_id = rubrics.audit_run_id
            and verdicts.rater = 'judge:' || rubrics.judge_id
            and verdicts.wording_index = rubrics.wording_index
    group by all
),

whole as (
    select
        * exclude (n_wordings),
        case
            when n_match > n_no_match then 'match'
            when n_match < n_no_match then 'no_match'
            else 'none'
        end as ruling
    from counted
    qualify count(*) over (partition by audit_run_id, task_id, scoring_method, answer) = n_wordings
),

final as (
    select
        *,
        list_position(['no_match', 'match', 'none'], ruling) as ruling_index,
        dense_rank() over (partition by audit_run_id, task_id, scoring_method order by answer)::integer as item
    from whole
)

select * from final
