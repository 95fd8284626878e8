-- One row per comparison, model, task, strategy, side and answer to a sample that both runs asked.
-- Of the marts, which keep every night: a run whose raw rows are in the archive is compared all the same.
with sides as {{ all_of('int_sides_paired') }},

predictions as {{ of_this_build('fct_predictions', where="answer_status != 'error'") }},

samples as {{ all_of('int_samples_paired') }},

variants as {{ all_of('int_variants_paired') }},

labels as {{ of_this_build('stg_task_labels') }},

final as (
    select
        sides.comparison_id,
        sides.model_id,
        sides.task_id,
        sides.strategy,
        sides.side,
        samples.sample_id,
        samples.sample_index,
        variants.variant,
        variants.temperature,
        variants.is_original,
        predictions.repetition,
        coalesce(labels.label_index, -1) as label_index,
        coalesce(golds.label_index, -1) as gold_index,
        predictions.is_correct,
        predictions.latency_ms
    from sides
    inner join predictions
        on
            sides.audit_run_id = predictions.audit_run_id
            and sides.own_model_id = predictions.model_id
            and sides.task_id = predictions.task_id
            and sides.own_strategy = predictions.strategy
    inner join samples
        on
            sides.comparison_id = samples.comparison_id
            and sides.task_id = samples.task_id
            and predictions.sample_id = samples.sample_id
    inner join variants
        on
            sides.comparison_id = variants.comparison_id
            and sides.task_id = variants.task_id
            and sides.strategy = variants.strategy
            and predictions.prompt_variant_id = variants.prompt_variant_id
    left join labels
        on
            sides.audit_run_id = labels.audit_run_id
            and sides.task_id = labels.task_id
            and predictions.label = labels.label
    left join labels as golds
        on
            sides.audit_run_id = golds.audit_run_id
            and sides.task_id = golds.task_id
            and samples.gold_label = golds.label
)

select * from final
