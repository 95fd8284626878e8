-- One row per run, task, scoring method and set of models: how alike the templates of the task rank the models.
with accuracies as (
    select * from {{ ref('fct_variant_accuracy') }}
    where {{ in_this_build() }}
),

sets as (
    select * from {{ ref('int_model_sets') }}
    where {{ in_this_build() }}
),

ranked as (
    select
        accuracies.audit_run_id,
        accuracies.task_id,
        accuracies.scoring_method,
        sets.model_set,
        dense_rank() over (partition by accuracies.audit_run_id, accuracies.task_id order by accuracies.prompt_variant_id)
            as variant,
        dense_rank() over (partition by accuracies.audit_run_id order by accuracies.model_id) as model,
        accuracies.accuracy,
        accuracies.accuracy_scored
    from accuracies
    inner join sets using (audit_run_id, model_id)
),

measured as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        model_set,
        ranking_consistency(list(variant), list(model), list(accuracy)) as by_accuracy,
        ranking_consistency(list(variant), list(model), list(accuracy_scored)) as by_scored
    from ranked
    group by all
),

final as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        model_set,
        by_accuracy.mean_spearman as mean_spearman,
        by_accuracy.mean_spearman_textbook as mean_spearman_textbook,
        by_accuracy.n_pairs::integer as n_pairs,
        by_accuracy.n_undefined_pairs::integer as n_undefined_pairs,
        by_accuracy.n_models::integer as n_models,
        by_accuracy.n_variants::integer as n_variants,
        by_accuracy.n_models < 5 as is_of_few_models,
        by_scored.mean_spearman as mean_spearman_scored,
        by_scored.n_pairs::integer as n_pairs_scored,
        {{ measure_version() }}
    from measured
)

select * from final
