-- One row per run and prompt variant, proposals that were refused among them.
with variants as {{ of_this_build('stg_prompt_variants') }},

measured as {{ of_this_build('int_variants_measured', where='is_quarantined') }},

wordings as {{ of_this_build('int_wordings_numbered') }},

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
        wordings.family_index::bigint as wording_family,
        {{ measure_version() }}
    from variants
    left join wordings using (audit_run_id, prompt_variant_id)
    left join quarantined using (audit_run_id, prompt_variant_id)
)

select * from final
