-- one row per task, model and judge: its accuracy, the variance of that over samples, and what rulings of people show of it, as
-- how often two answers of the model to one sample that they ruled on are both right
with by_sample as (
    select
        scores.task_id,
        scores.model_id,
        scores.scoring_method,
        scores.sample_id,
        avg(coalesce(scores.is_correct, false)::integer) as accuracy,
        count(scores.is_correct) as n_scored,
        count(*) filter (scores.is_correct) as n_right
    from marts.fct_scores as scores
    semi join rulable_samples using (task_id, sample_id)
    inner join marts.fct_predictions as predictions using (audit_run_id, prediction_id)
    where
        scores.audit_run_id = $run
        and list_contains($tasks, scores.task_id)
        and (starts_with(scores.scoring_method, 'judge:') or scores.scoring_method = 'people')
        and not coalesce(scores.unscored_kind in ('no_answer', 'no_key', 'not_judged', 'judge_failed'), false)
    group by all
),

by_judge as (
    select
        task_id,
        model_id,
        scoring_method as judge,
        avg(accuracy) as accuracy,
        var_samp(accuracy) / count(*) as variance,
        count(*) as n_samples
    from by_sample
    where scoring_method != 'people'
    group by all
),

by_people as (
    select
        task_id,
        model_id,
        sum(n_right) / sum(n_scored) as share_right,
        sum(n_right * (n_right - 1)) / nullif(sum(n_scored * (n_scored - 1)), 0) as share_both_right
    from by_sample
    where scoring_method = 'people' and n_scored > 0
    group by all
)

select
    by_judge.*,
    by_people.share_right,
    by_people.share_both_right,
    spreads.n_ruled,
    greatest(
        spreads.accuracy_rectified - spreads.accuracy_rectified_low,
        spreads.accuracy_rectified_high - spreads.accuracy_rectified
    ) as half_width
from by_judge
left join by_people using (task_id, model_id)
left join marts.fct_scoring_sensitivity as spreads
    on
        spreads.audit_run_id = $run
        and by_judge.task_id = spreads.task_id
        and by_judge.model_id = spreads.model_id
        and by_judge.judge = spreads.scoring_method
order by by_judge.task_id, by_judge.model_id, by_judge.judge
