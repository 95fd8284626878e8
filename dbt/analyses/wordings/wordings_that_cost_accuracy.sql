-- Which variants of a prompt are right less often than the original, over the last three nights of each audit: the dearest 50.
-- Accuracy is the fitted one, as if each variant had been asked all samples.
with nights as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where night_number is not null
    qualify row_number() over (partition by audit_id order by night_number desc) <= 3
),

accuracies as (
    select
        nights.audit_id,
        audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        measured.scoring_method,
        prompt_variant_id,
        variants.is_original,
        variants.instruction,
        measured.accuracy_fitted as accuracy
    from {{ ref('fct_variant_accuracy') }} as measured
    inner join nights using (audit_run_id)
    inner join {{ ref('dim_prompt_variants') }} as variants using (audit_run_id, prompt_variant_id)
    where measured.accuracy_fitted is not null
),

originals as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        avg(accuracy) as accuracy
    from accuracies
    where is_original
    group by all
)

select
    accuracies.audit_id,
    model_id,
    task_id,
    strategy,
    scoring_method,
    accuracies.prompt_variant_id,
    count(*) as n_nights,
    count(*) filter (accuracies.accuracy < originals.accuracy) as n_nights_worse,
    avg(accuracies.accuracy) as accuracy,
    avg(originals.accuracy) as accuracy_original,
    avg(originals.accuracy - accuracies.accuracy) as cost_in_accuracy,
    any_value(accuracies.instruction) as instruction
from accuracies
inner join originals using (audit_run_id, model_id, task_id, strategy, scoring_method)
where not accuracies.is_original
group by all
having cost_in_accuracy > 0
order by
    cost_in_accuracy desc,
    accuracies.audit_id asc,
    model_id asc,
    task_id asc,
    strategy asc,
    scoring_method asc,
    prompt_variant_id asc
limit 50
