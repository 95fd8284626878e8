-- One row per comparison, model, task, strategy and measure: both figures, their difference and what chance would give.
with paired as {{ all_of('int_groups_paired', where='reason is null') }},

answers as {{ all_of('int_answers_paired') }},

scores as {{ all_of('int_scores_paired') }},

costs as {{ all_of('int_costs_compared') }},

apart as {{ all_of('int_groups_apart') }},

labelled as (
    select
        answers.comparison_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        null::varchar as scoring_method,
        unnest(
            try_compare_answers(
                {{ told_as('answers', ['comparison_id', 'model_id', 'task_id', 'strategy']) }},
                list(answers.side),
                list(answers.sample_index),
                list(answers.variant),
                list(answers.temperature),
                list(answers.is_original),
                list(answers.repetition),
                list(answers.label_index),
                list(answers.gold_index),
                any_value(paired.labels),
                any_value(paired.level),
                any_value(paired.seed),
                any_value(paired.n_resamples)
            )
        ) as figures
    from answers
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where len(paired.labels) > 0 -- an open task has none
    group by all
),

scored as (
    select
        scores.comparison_id,
        scores.model_id,
        scores.task_id,
        scores.strategy,
        scores.scoring_method,
        unnest(
            try_compare_accuracies(
                {{ told_as('scores', ['comparison_id', 'model_id', 'task_id', 'strategy']) }},
                list(scores.side),
                list(scores.sample_index),
                list(scores.variant),
                list(scores.accuracy),
                any_value(paired.seed),
                any_value(paired.n_resamples)
            )
        ) as figures
    from scores
    inner join paired using (comparison_id, model_id, task_id, strategy)
    group by all
),

tested as (
    select * from labelled
    union all
    select * from scored
),

measured as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        concat_ws(':', figures.measure, scoring_method) as measure,
        figures.base,
        figures.candidate,
        figures.difference,
        figures.low as difference_low,
        figures.high as difference_high,
        figures.p_value,
        figures.p_value_samples,
        figures.p_value_variants,
        figures.standard_error,
        figures.degrees_of_freedom,
        figures.n_samples,
        figures.n_variants,
        figures.n_repetitions,
        figures.reason
    from tested
    -- which is micro_f1: told once, and one test
    where figures.measure != 'accuracy' or not list_contains({{ label_rules() }}, scoring_method)
),

final as (
    select measured.*
    from measured
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where
        not paired.has_incomplete_grid
        or split_part(measured.measure, ':', 1) not in ('sensitivity', 'consistency', 'accuracy_std')
    union all by name
    select * from costs
    union all by name
    select * from apart
)

select * from final
