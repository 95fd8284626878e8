-- What stands in a field instead of the gold value, in each audit's newest run: one row per field, gold value and value.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
)

select
    newest.audit_id,
    field_values.model_id,
    field_values.task_id,
    field_values.strategy,
    field_values.field,
    field_values.gold_value,
    field_values.value,
    min(field_values.raw_value) as raw_value,
    count(*) as n_answers,
    count(distinct field_values.sample_id) as n_samples,
    count(distinct field_values.prompt_variant_id) as n_variants
from {{ ref('fct_field_values') }} as field_values
inner join newest using (audit_run_id)
where not field_values.is_correct
group by all
order by
    n_answers desc, newest.audit_id asc, field_values.model_id asc, field_values.task_id asc, field_values.field asc,
    field_values.value asc
