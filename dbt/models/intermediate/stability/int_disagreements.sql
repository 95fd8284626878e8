-- One row per run, model, task, strategy and sample: how often two asks disagree within a wording, and between wordings.
{{ config(materialized='view') }}
with counted as {{ of_this_build('int_labels_counted') }},

cells as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        sample_index,
        any_value(n_repetitions) as n_repetitions,
        1 - sum(n_answers * (n_answers - 1)) / nullif(any_value(n_repetitions * (n_repetitions - 1)), 0)
            as repeat_disagreement
    from counted
    group by all
),

within_wordings as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        count(*) as n_variants,
        count(repeat_disagreement) as n_repeated_variants,
        sum(repeat_disagreement) as repeat_disagreement_summed
    from cells
    group by all
),

labels as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        label_index,
        sum(p_variant) as p_summed,
        sum(p_variant * p_variant) as p_squares_summed
    from counted
    group by all
),

between_wordings as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        sum(p_summed * p_summed - p_squares_summed) as agreeing_pairs
    from labels
    group by all
),

final as (
    select
        within_wordings.*,
        1 - between_wordings.agreeing_pairs / nullif(within_wordings.n_variants * (within_wordings.n_variants - 1), 0)
            as variant_disagreement
    from within_wordings
    inner join between_wordings using (audit_run_id, model_id, task_id, strategy, sample_index)
)

select * from final
