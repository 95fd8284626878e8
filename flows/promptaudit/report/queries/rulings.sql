select
    rules.task_id,
    rules.scoring_method as rule,
    judges.scoring_method as judge,
    rules.ruling as rule_ruling,
    judges.ruling as judge_ruling,
    count(*) as n_predictions
from ruled as rules
inner join ruled as judges on rules.prediction_id = judges.prediction_id and judges.is_judge
where not rules.is_judge
group by all
order by all
