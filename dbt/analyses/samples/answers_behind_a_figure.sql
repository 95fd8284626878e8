-- Every answer behind one figure: here the most sensitive sample of the newest run; put your own in `chosen`.
with newest as (
    select audit_run_id
    from {{ ref('dim_nights') }}
    where is_newest
    order by run_index desc
    limit 1
),

chosen as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        sensitivity
    from {{ ref('fct_sensitivity') }}
    inner join newest using (audit_run_id)
    order by sensitivity desc nulls last, task_id asc, sample_id asc, model_id asc, strategy asc
    limit 1
)

select
    chosen.audit_run_id,
    chosen.model_id,
    chosen.task_id,
    chosen.strategy,
    chosen.sample_id,
    chosen.sensitivity,
    said.variant_index,
    said.paraphrase_temperature,
    said.repetition,
    said.completion,
    said.answer_status,
    said.label,
    said.gold_label,
    variants.instruction,
    said.prediction_id
from chosen
inner join {{ ref('fct_predictions') }} as said using (audit_run_id, model_id, task_id, strategy, sample_id)
inner join {{ ref('dim_prompt_variants') }} as variants using (audit_run_id, prompt_variant_id)
order by said.paraphrase_temperature nulls first, said.variant_index, said.repetition
