-- One row per run, model, task and strategy with gold labels and three wordings or more: what a majority vote over its wordings
-- brings, each asked once. What differs from the original in another respect than its wording has no vote.
with predictions as {{ of_this_build('int_predictions_measured', where='is_correct is not null and repetition = 1') }},

variants as {{ of_this_build('stg_prompt_variants', where='is_worded_alone') }},

samples as {{ of_this_build('stg_samples') }},

clustered as {{ samples_clustered('samples') }},

given as (
    select
        predictions.*,
        variants.is_original
    from predictions
    inner join variants using (audit_run_id, prompt_variant_id)
),

numbered as {{ variants_numbered('given') }},

final as (
    select
        given.audit_run_id,
        given.model_id,
        given.task_id,
        given.strategy,
        try_majority_vote(
            {{ group_keys('given') }},
            list(given.sample_index),
            list(clustered.cluster_index),
            list(numbered.variant),
            list(given.label_index),
            list(given.is_correct::integer),
            list(given.is_original::integer)
        ) as majority
    from given
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
    inner join clustered using (audit_run_id, task_id, sample_index)
    group by all
)

select * from final
