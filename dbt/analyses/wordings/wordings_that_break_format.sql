-- Which wordings get answers that cannot be read more often than the original does, in each audit's newest run.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
),

rates as (
    select
        formats.audit_run_id,
        newest.audit_id,
        formats.model_id,
        formats.task_id,
        formats.strategy,
        variants.is_original,
        variants.paraphrase_temperature,
        variants.variant_index,
        variants.instruction,
        bool_or(formats.is_breaking) as is_breaking,
        sum(formats.n_landed - formats.n_error)::bigint as n_answers,
        1 - sum(formats.n_valid) / nullif(sum(formats.n_landed - formats.n_error), 0) as invalid_rate
    from {{ ref('fct_answer_formats') }} as formats
    inner join newest using (audit_run_id)
    inner join {{ ref('dim_prompt_variants') }} as variants using (audit_run_id, prompt_variant_id)
    group by all
),

originals as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        avg(invalid_rate) as invalid_rate_original
    from rates
    where is_original
    group by all
)

select
    rates.audit_id,
    rates.model_id,
    rates.task_id,
    rates.strategy,
    rates.paraphrase_temperature,
    rates.variant_index,
    rates.invalid_rate,
    originals.invalid_rate_original,
    rates.invalid_rate - originals.invalid_rate_original as difference,
    rates.n_answers,
    rates.is_breaking,
    rates.instruction
from rates
left join originals using (audit_run_id, model_id, task_id, strategy)
where not rates.is_original and rates.invalid_rate > coalesce(originals.invalid_rate_original, 0)
order by
    difference desc nulls last,
    rates.audit_id asc,
    rates.model_id asc,
    rates.task_id asc,
    rates.strategy asc,
    rates.variant_index asc
limit 50
