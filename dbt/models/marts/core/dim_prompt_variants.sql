-- One row per run and prompt variant, proposals that were refused among them.
with variants as (
    select * from {{ ref('stg_prompt_variants') }}
    where {{ in_this_build() }}
),

measured as (
    select * from {{ ref('int_variants_measured') }}
    where is_quarantined and {{ in_this_build() }}
),

wordings as (
    select * from {{ ref('int_wordings_numbered') }}
    where {{ in_this_build() }}
),

quarantined as (
    select
        audit_run_id,
        prompt_variant_id,
        list(model_id order by model_id) as quarantined_for
    from measured
    group by all
),

final as (
    select
        variants.* exclude (is_worded_alone),
        coalesce(quarantined.quarantined_for, []::varchar[]) as quarantined_for,
        wordings.family_index as wording_family,
        {{ measure_version() }}
    from variants
    left join wordings using (audit_run_id, prompt_variant_id)
    left join quarantined using (audit_run_id, prompt_variant_id)
)

select * from final
