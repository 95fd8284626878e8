-- One row per run, task and judge whom people's rulings can be held against: how far it rules as they do.
-- A judge counts as verified from ten answers on that people hold to be right, and as many that they hold to be wrong.
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
        people.is_right,
        answers.n_predictions
        * sum(answers.n_predictions) over kind_of_answer
        / sum(if(people.answer is null, null, answers.n_predictions)) over kind_of_answer as weight
    from answers
    left join people using (audit_run_id, task_id, answer)
    window kind_of_answer as (partition by answers.audit_run_id, answers.task_id, answers.pattern)
),

ruled as (
    select
        rated.audit_run_id,
        rated.task_id,
        rated.rater as judge,
        youden_index(list(rated.is_match), list(weighted.is_right), list(weighted.weight)) as youden_index,
        count(*) filter (weighted.is_right)::integer as n_ruled_right,
        count(*) filter (not weighted.is_right)::integer as n_ruled_wrong
    from rated
    inner join weighted using (audit_run_id, task_id, answer)
    where rated.kind = 'judge' and weighted.is_right is not null
    group by all
),

final as (
    select
        *,
        if(
            youden_index > 0 and least(n_ruled_right, n_ruled_wrong) >= {{ least_ruled }}, 'verified', 'judge_unverified'
        ) as judge_state
    from ruled
)

select * from final
