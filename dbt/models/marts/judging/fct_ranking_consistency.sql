-- One row per run, task, scoring method and set of models: how alike the templates of the task rank the models.
with runs as {{ of_this_build('stg_audit_runs') }},

accuracies as {{ of_this_build('fct_variant_accuracy') }},

averaged as {{ of_this_build('int_scores_averaged', where='accuracy is not null') }},

sets as {{ of_this_build('int_model_sets') }},

ranked as (
    select
        accuracies.audit_run_id,
        accuracies.task_id,
        accuracies.scoring_method,
        sets.model_set,
        dense_rank() over (
            partition by accuracies.audit_run_id, accuracies.task_id order by accuracies.prompt_variant_id
        )::integer as variant,
        dense_rank() over (partition by accuracies.audit_run_id order by accuracies.model_id)::integer as model,
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
        try_ranking_consistency(
            {{ group_keys(keys=['audit_run_id', 'task_id']) }},
            list(variant), list(model), list(accuracy)
        ) as by_accuracy,
        try_ranking_consistency(
            {{ group_keys(keys=['audit_run_id', 'task_id']) }},
            list(variant), list(model), list(accuracy_scored)
        ) as by_scored
    from ranked
    group by all
),

variants as {{ variants_numbered('averaged', within='audit_run_id, task_id') }},

models as (
    select
        *,
        dense_rank() over (partition by audit_run_id order by model_id)::integer as model
    from sets
),

by_question as (
    select
        averaged.audit_run_id,
        averaged.task_id,
        averaged.scoring_method,
        models.model_set,
        averaged.sample_index,
        variants.variant,
        models.model,
        averaged.accuracy
    from averaged
    inner join variants using (audit_run_id, task_id, prompt_variant_id)
    inner join models using (audit_run_id, model_id)
),

without_luck as (
    select
        by_question.audit_run_id,
        by_question.task_id,
        by_question.scoring_method,
        by_question.model_set,
        try_corrected_ranking(
            {{ group_keys('by_question', ['audit_run_id', 'task_id']) }},
            list(by_question.sample_index),
            list(by_question.variant),
            list(by_question.model),
            list(by_question.accuracy),
            any_value(runs.seed)
        ) as ranking
    from by_question
    inner join runs using (audit_run_id)
    group by all
),

-- what the judges make of the same answers as a rule, the first by name
firsts as (
    select
        audit_run_id,
        task_id,
        min(scoring_method) as scoring_method
    from by_question
    where {{ kind_of_rater('scoring_method') }} = 'rule' and not starts_with(scoring_method, 'field:')
    group by all
),

ruled as (
    select by_question.*
    from by_question
    inner join firsts using (audit_run_id, task_id, scoring_method)
),

against_rules as (
    select
        judges.audit_run_id,
        judges.task_id,
        judges.scoring_method,
        judges.model_set,
        any_value(ruled.scoring_method) as rule,
        try_ranking_difference(
            {{ group_keys('judges', ['audit_run_id', 'task_id']) }},
            list(judges.sample_index),
            list(judges.variant),
            list(judges.model),
            list(judges.accuracy),
            list(ruled.accuracy),
            any_value(runs.seed)
        ) as further
    from by_question as judges
    inner join ruled using (audit_run_id, task_id, model_set, sample_index, variant, model)
    inner join runs on judges.audit_run_id = runs.audit_run_id
    where starts_with(judges.scoring_method, 'judge:')
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
        without_luck.ranking.corrected as mean_spearman_corrected,
        without_luck.ranking.low as mean_spearman_corrected_low,
        without_luck.ranking.high as mean_spearman_corrected_high,
        against_rules.rule,
        against_rules.further.difference as difference_from_rule,
        against_rules.further.low as difference_from_rule_low,
        against_rules.further.high as difference_from_rule_high,
        by_accuracy.n_pairs::integer as n_pairs,
        by_accuracy.n_undefined_pairs::integer as n_undefined_pairs,
        by_accuracy.n_models::integer as n_models,
        by_accuracy.n_variants::integer as n_variants,
        by_accuracy.n_models < 5 as is_of_few_models,
        by_scored.mean_spearman as mean_spearman_scored,
        by_scored.n_pairs::integer as n_pairs_scored,
        {{ measure_version() }}
    from measured
    left join without_luck using (audit_run_id, task_id, scoring_method, model_set)
    left join against_rules using (audit_run_id, task_id, scoring_method, model_set)
)

select * from final
