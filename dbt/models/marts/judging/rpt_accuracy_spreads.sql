-- One row per run, model, task, strategy and scoring method: accuracy over its prompt variants, which weigh equally.
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
from {{ ref('fct_variant_accuracy') }} as accuracies
inner join {{ ref('stg_prompt_variants') }} as variants using (audit_run_id, prompt_variant_id)
where
    accuracies.accuracy is not null
    and {{ in_this_build('accuracies.audit_run_id') }}
    and {{ in_this_build('variants.audit_run_id') }}
group by all
