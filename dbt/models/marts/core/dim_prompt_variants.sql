-- One row per run and prompt variant, proposals that were refused among them.
with variants as {{ of_this_build('stg_prompt_variants') }},

broken as {{ of_this_build('int_variants_asked', where='is_breaking') }},

wordings as {{ of_this_build('int_wordings_numbered') }},

breaking as (
    select
        audit_run_id,
        prompt_variant_id,
        list(model_id order by model_id) as breaking_for
    from broken
    group by all
),

final as (
    select
        variants.* exclude (is_worded_alone),
        coalesce(breaking.breaking_for, []::varchar[]) as breaking_for,
        wordings.family_index::bigint as wording_family,
        {{ measure_version() }}
    from variants
    left join wordings using (audit_run_id, prompt_variant_id)
    left join breaking using (audit_run_id, prompt_variant_id)
)

select * from final
