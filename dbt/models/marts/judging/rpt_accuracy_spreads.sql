-- One row per run, model, task, strategy and scoring method: accuracy over its prompt variants, which weigh equally.
-- Where each sample was asked under some of the variants alone, accuracies are those fitted to all samples.
with variant_accuracies as {{ of_this_build('fct_variant_accuracy', where='accuracy is not null') }},

grids as {{ of_this_build('int_grids') }},

accuracies as (
    select
        variant_accuracies.* replace (
            if(grids.is_incomplete, variant_accuracies.accuracy_fitted, variant_accuracies.accuracy) as accuracy
        )
    from variant_accuracies
    inner join grids using (audit_run_id, task_id, strategy)
),

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
