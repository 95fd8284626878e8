-- One row per run and prompt variant, proposals that were refused among them.
with quarantined as (
    select
        audit_run_id,
        prompt_variant_id,
        list(model_id order by model_id) as quarantined_for
    from {{ ref('int_variants_measured') }}
    where is_quarantined and {{ in_this_build() }}
    group by all
)

select
    variants.*,
    coalesce(quarantined.quarantined_for, []::varchar[]) as quarantined_for,
    {{ measure_version() }}
from {{ ref('stg_prompt_variants') }} as variants
left join quarantined using (audit_run_id, prompt_variant_id)
where {{ in_this_build('variants.audit_run_id') }}
