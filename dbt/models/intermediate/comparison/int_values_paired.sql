-- One row per comparison, model, task, strategy and measure: what each sample adds to it in either run, on what both have.
with paired as {{ all_of('int_groups_paired', where='reason is null') }},

answers as {{ all_of('int_answers_paired') }},

scores as {{ all_of('int_scores_paired') }},

labelled as (
    select
        answers.comparison_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        null::varchar as scoring_method,
        unnest(
            try_paired_values(
                {{ group_keys('answers', ['comparison_id', 'model_id', 'task_id', 'strategy']) }},
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
                any_value(paired.are_two_groups)
            )
        ) as found
    from answers
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where len(paired.labels) > 0 -- an open task has none
    group by answers.comparison_id, answers.model_id, answers.task_id, answers.strategy
),

scored as (
    select
        scores.comparison_id,
        scores.model_id,
        scores.task_id,
        scores.strategy,
        scores.scoring_method,
        unnest(
            try_paired_accuracies(
                {{ group_keys('scores', ['comparison_id', 'model_id', 'task_id', 'strategy']) }},
                list(scores.side),
                list(scores.sample_index),
                list(scores.variant),
                list(scores.accuracy),
                any_value(paired.are_two_groups)
            )
        ) as found
    from scores
    inner join paired using (comparison_id, model_id, task_id, strategy)
    group by scores.comparison_id, scores.model_id, scores.task_id, scores.strategy, scores.scoring_method
),

measured as (
    select * from labelled
    union all
    select * from scored
),

final as (
    select
        measured.comparison_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        concat_ws(':', measured.found.measure, measured.scoring_method) as measure,
        measured.found
    from measured
    where
        -- which is micro_f1: told once, and one test
        measured.found.measure != 'accuracy' or not list_contains({{ label_rules() }}, measured.scoring_method)
)

select * from final
