-- One row per comparison, model, task, strategy and judge: how otherwise the judge ruled on the answers that both runs gave word
-- for word, and what that adds to the candidate's accuracy.
{{ config(materialized='view') }}
with sides as {{ all_of('int_sides_paired', where='side < 2') }},

samples as {{ all_of('int_samples_paired') }},

tasks as {{ of_this_build('stg_tasks') }},

scores as {{ of_this_build('fct_scores', where="starts_with(scoring_method, 'judge:') and is_correct is not null") }},

predictions as {{ of_this_build('fct_predictions') }},

-- options stand in an order of each wording's own: there the same letters are another answer
ruled as (
    select
        sides.comparison_id,
        sides.model_id,
        sides.task_id,
        sides.strategy,
        sides.side,
        scores.scoring_method,
        scores.sample_id,
        if(tasks.kind = 'multiple_choice', scores.prompt_variant_id, '') as shown_as,
        md5(predictions.completion) as completion_md5,
        avg(scores.is_correct::integer) as share_right,
        count(*) as n_cells
    from sides
    inner join scores
        on
            sides.audit_run_id = scores.audit_run_id
            and sides.own_model_id = scores.model_id
            and sides.task_id = scores.task_id
            and sides.own_strategy = scores.strategy
    inner join samples
        on
            sides.comparison_id = samples.comparison_id
            and sides.task_id = samples.task_id
            and scores.sample_id = samples.sample_id
    inner join tasks
        on sides.audit_run_id = tasks.audit_run_id and sides.task_id = tasks.task_id
    inner join predictions
        on scores.audit_run_id = predictions.audit_run_id and scores.prediction_id = predictions.prediction_id
    group by all
),

final as (
    select
        candidates.comparison_id,
        candidates.model_id,
        candidates.task_id,
        candidates.strategy,
        candidates.scoring_method,
        count(bases.share_right) as n_same,
        count(*) filter (candidates.share_right != bases.share_right) as n_ruled_otherwise,
        coalesce(sum(candidates.n_cells * (candidates.share_right - bases.share_right)), 0) / sum(candidates.n_cells)
            as difference_of_rulings
    from ruled as candidates
    left join ruled as bases
        on
            bases.side = 0
            and candidates.comparison_id = bases.comparison_id
            and candidates.model_id = bases.model_id
            and candidates.task_id = bases.task_id
            and candidates.strategy = bases.strategy
            and candidates.scoring_method = bases.scoring_method
            and candidates.sample_id = bases.sample_id
            and candidates.shown_as = bases.shown_as
            and candidates.completion_md5 = bases.completion_md5
    where candidates.side = 1
    group by all
)

select * from final
