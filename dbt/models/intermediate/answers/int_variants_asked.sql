-- One row per run, model and prompt variant that was asked: whether it breaks its format by the limits of the card. It counts in
-- every figure all the same. Cells without an answer break no format.
with variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

models as {{ of_this_build('stg_models') }},

checks as {{ of_this_build('stg_format_checks', where='not is_success') }},

asked as (
    select
        variants.audit_run_id,
        models.model_id,
        variants.task_id,
        variants.strategy,
        variants.prompt_variant_id
    from variants
    inner join models
        on
            variants.audit_run_id = models.audit_run_id
            and (variants.model_ids is null or list_contains(variants.model_ids, models.model_id))
),

broken as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        string_agg(reason, '; ' order by reason) as breaking_reason
    from checks
    where expectation not in ('every planned cell landed', 'error rate')
    group by all
),

final as (
    select
        asked.*,
        broken.breaking_reason is not null as is_breaking,
        broken.breaking_reason
    from asked
    left join broken using (audit_run_id, model_id, prompt_variant_id)
)

select * from final
