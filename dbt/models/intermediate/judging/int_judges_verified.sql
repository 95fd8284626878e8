-- One row per run, task and judge whom people's rulings can be held against: how far it rules as they do.
-- A judge counts as verified from ten answers on that people hold to be right, and as many that they hold to be wrong. A judge
-- that is harsher on malformed answers errs more under templates that break the format, which no single index takes back: with
-- so many answers both in and out of format its error rates are told apart.
{% set least_ruled = 10 %}
with rated as (
    select * from {{ ref('int_answers_rated') }}
    where {{ in_this_build() }}
),

said as (
    select * from {{ ref('int_answers_counted') }}
    where {{ in_this_build() }}
),

people as (
    select
        audit_run_id,
        task_id,
        answer,
        is_match as is_right
    from rated
    where kind = 'people'
),

-- sheets take disagreements more often than others: people's rulings weigh as many predictions as answers of their kind,
-- ruled and scored alike, have in all
answers as (
    select
        rated.audit_run_id,
        rated.task_id,
        rated.answer,
        any_value(said.n_predictions) as n_predictions,
        any_value(said.is_in_format) as is_in_format,
        string_agg(rated.rater || rated.is_match || rated.is_scored, ' ' order by rated.rater) as pattern
    from rated
    inner join said using (audit_run_id, task_id, answer)
    where rated.kind in ('judge', 'rule')
    group by all
),

weighted as (
    select
        answers.audit_run_id,
        answers.task_id,
        answers.answer,
        answers.is_in_format,
        people.is_right,
        answers.n_predictions
        * sum(answers.n_predictions) over kind_of_answer
        / sum(if(people.answer is null, null, answers.n_predictions)) over kind_of_answer as weight,
        answers.n_predictions
        * sum(answers.n_predictions) over kind_and_format
        / sum(if(people.answer is null, null, answers.n_predictions)) over kind_and_format as weight_in_format
    from answers
    left join people using (audit_run_id, task_id, answer)
    window
        kind_of_answer as (partition by answers.audit_run_id, answers.task_id, answers.pattern),
        kind_and_format as (
            partition by answers.audit_run_id, answers.task_id, answers.pattern, answers.is_in_format
        )
),

ruled as (
    select
        rated.audit_run_id,
        rated.task_id,
        rated.rater as judge,
        rated.is_match,
        weighted.is_right,
        weighted.is_in_format,
        weighted.weight,
        weighted.weight_in_format
    from rated
    inner join weighted using (audit_run_id, task_id, answer)
    where rated.kind = 'judge' and weighted.is_right is not null
),

by_judge as (
    select
        audit_run_id,
        task_id,
        judge,
        youden_index(list(is_match), list(is_right), list(weight)) as youden_index,
        count(*) filter (is_right)::integer as n_ruled_right,
        count(*) filter (not is_right)::integer as n_ruled_wrong
    from ruled
    group by all
),

by_format as (
    select
        audit_run_id,
        task_id,
        judge,
        is_in_format,
        sum(is_match::integer * weight_in_format) filter (is_right) / sum(weight_in_format) filter (is_right)
            as true_positive_rate,
        sum(is_match::integer * weight_in_format) filter (not is_right) / sum(weight_in_format) filter (not is_right)
            as false_positive_rate,
        true_positive_rate - false_positive_rate as youden_index,
        youden_index > 0
        and least(count(*) filter (is_right), count(*) filter (not is_right)) >= {{ least_ruled }} as is_known
    from ruled
    group by all
),

final as (
    select
        by_judge.*,
        in_format.true_positive_rate as true_positive_rate_in_format,
        in_format.false_positive_rate as false_positive_rate_in_format,
        in_format.youden_index as youden_index_in_format,
        out_of_format.true_positive_rate as true_positive_rate_out_of_format,
        out_of_format.false_positive_rate as false_positive_rate_out_of_format,
        out_of_format.youden_index as youden_index_out_of_format,
        if(
            by_judge.youden_index > 0 and least(by_judge.n_ruled_right, by_judge.n_ruled_wrong) >= {{ least_ruled }},
            'verified',
            'judge_unverified'
        ) as judge_state,
        case
            when judge_state != 'verified' then null
            when in_format.is_known and out_of_format.is_known then 'index_by_format'
            else 'one_index'
        end as rectified_by
    from by_judge
    left join by_format as in_format
        on
            by_judge.audit_run_id = in_format.audit_run_id
            and by_judge.task_id = in_format.task_id
            and by_judge.judge = in_format.judge
            and in_format.is_in_format
    left join by_format as out_of_format
        on
            by_judge.audit_run_id = out_of_format.audit_run_id
            and by_judge.task_id = out_of_format.task_id
            and by_judge.judge = out_of_format.judge
            and not out_of_format.is_in_format
)

select * from final
