-- One row per run, model, task, strategy and scoring method: accuracy over its prompt variants, which weigh equally.
with accuracies as {{ of_this_build('fct_variant_accuracy', where='accuracy is not null') }},

variants as {{ of_this_build('stg_prompt_variants') }},

final as (
    select
        accuracies.audit_run_id,
        accuracies.model_id,
        accuracies.task_id,
        accuracies.strategy,
        accuracies.scoring_method,
        count(*) as n_variants,
        avg(accuracies.accuracy) filter (variants.is_original) as accuracy_original,
        avg(accuracies.accuracy) as accuracy_mean,
        stddev_pop(accuracies.accuracy) as accuracy_std,
        {{ measure_version() }}
    from accuracies
    inner join variants using (audit_run_id, prompt_variant_id)
    group by all
)

select * from final
