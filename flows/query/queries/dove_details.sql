-- One row per prediction of a run: what rows of DOVE say of it beside what every export says. `score` is by the task's first
-- scoring method, 0 of an answer that cannot be read; `context_tokens` is the most that one answer of the model took together
-- with its prompt.
select
    answers.prediction_id,
    answers.sampling,
    max(answers.prompt_tokens + answers.completion_tokens) over (partition by answers.model_id) as context_tokens,
    models.card as model_card,
    variants.template,
    samples.sample_index,
    tasks.card -> '$.data' as data,
    tasks.scoring_methods[1] as scoring_method,
    if(scores.unscored_kind = 'not_read', 0.0, scores.score) as score
from marts.fct_predictions as answers
inner join marts.dim_models as models using (audit_run_id, model_id)
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
inner join marts.dim_prompt_variants as variants using (audit_run_id, task_id, prompt_variant_id)
left join marts.fct_scores as scores
    on
        scores.audit_run_id = $run
        and answers.prediction_id = scores.prediction_id
        and tasks.scoring_methods[1] = scores.scoring_method
where answers.audit_run_id = $run
