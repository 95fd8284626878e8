-- One row per prediction of a run: what rows of DOVE say of it beside what every export says. `score` is by the task's first
-- scoring method, 0 of an answer that cannot be read; `context_tokens` is the most that one answer of the model took together
-- with its prompt.
with answers as (
    select * from marts.fct_predictions
    where audit_run_id = $run
),

variants as (
    select * from marts.dim_prompt_variants
    where audit_run_id = $run
),

samples as (
    select * from marts.dim_samples
    where audit_run_id = $run
),

tasks as (
    select * from marts.dim_tasks
    where audit_run_id = $run
),

models as (
    select * from marts.dim_models
    where audit_run_id = $run
),

scores as (
    select * from marts.fct_scores
    where audit_run_id = $run
),

final as (
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
    from answers
    inner join variants on answers.prompt_variant_id = variants.prompt_variant_id
    inner join samples on answers.task_id = samples.task_id and answers.sample_id = samples.sample_id
    inner join tasks on answers.task_id = tasks.task_id
    inner join models on answers.model_id = models.model_id
    left join scores on answers.prediction_id = scores.prediction_id and tasks.scoring_methods[1] = scores.scoring_method
)

select * from final
