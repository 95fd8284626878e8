-- what each scoring method makes of a prediction: as in accuracy, an unscored answer is worth 0 and an error nothing
select
    said.prediction_id,
    said.task_id,
    said.sample_id,
    said.model_id,
    said.prompt_variant_id,
    said.completion,
    said.label,
    scores.scoring_method,
    -- people are neither a judge nor a rule
    if(scores.scoring_method = 'people', null, starts_with(scores.scoring_method, 'judge:')) as is_judge,
    scores.score,
    scores.reason,
    scores.unscored_kind,
    coalesce(scores.is_correct::integer::double, scores.score, 0) as worth,
    case
        when scores.score_state = 'unscored' then 'unscored'
        when coalesce(scores.is_correct::integer::double, scores.score) = 1 then 'right'
        when coalesce(scores.is_correct::integer::double, scores.score) = 0 then 'wrong'
        else 'partly right'
    end as ruling
from marts.fct_predictions as said
inner join marts.fct_scores as scores using (audit_run_id, prediction_id)
where
    audit_run_id = $run
    and (scores.unscored_kind is null or scores.unscored_kind not in ('no_answer', 'no_key', 'not_weighed'))
