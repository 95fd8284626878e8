-- One row per run, task, strategy, kind of variation and prompt variant that differs from another in this kind alone.
with variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

wordings as {{ of_this_build('int_wordings_numbered') }},

-- before settings were kept a variant had nothing but its wording or its template
known as (
    select
        variants.audit_run_id,
        variants.task_id,
        variants.strategy,
        variants.prompt_variant_id,
        variants.paraphrase_temperature,
        variants.model_ids[1] as own_of,
        wordings.family_index,
        case
            when variants.setting is not null then variants.setting
            when variants.is_original then '{}'
            else json_object(variants.variation, variants.variant_index)::varchar
        end as setting
    from variants
    inner join wordings using (audit_run_id, prompt_variant_id)
),

-- one index under two paraphrase temperatures is two wordings, and so it is of two models that reword for themselves
settings as (
    select
        * replace (
            if(
                coalesce(paraphrase_temperature::varchar, own_of) is not null and json_exists(setting, '$.wording'),
                json_merge_patch(
                    setting,
                    json_object(
                        'wording',
                        json_object(
                            'at', paraphrase_temperature, 'of', own_of, 'wording', json_extract(setting, '$.wording')
                        )
                    )
                )::varchar,
                setting
            ) as setting
        )
    from known
),

kinds as (
    select distinct
        audit_run_id,
        task_id,
        strategy,
        unnest(json_keys(setting)) as variation
    from settings
),

of_kinds as (
    select
        settings.audit_run_id,
        settings.task_id,
        settings.strategy,
        settings.prompt_variant_id,
        settings.family_index,
        kinds.variation,
        json_merge_patch(settings.setting, json_object(kinds.variation, null))::varchar as line,
        json_extract(settings.setting, '/' || kinds.variation)::varchar as value
    from settings
    inner join kinds using (audit_run_id, task_id, strategy)
),

-- wordings of one family are left out together, and those of the original's family stay with it
families as (
    select
        *,
        if(
            variation = 'wording',
            any_value(family_index) filter (line = '{}') over (one_value),
            null
        ) as value_family,
        any_value(family_index) filter (line = '{}' and value is null) over (one_kind) as original_family,
        count(distinct coalesce(value, '')) over (one_line) as n_values
    from of_kinds
    window
        one_kind as (partition by audit_run_id, task_id, strategy, variation),
        one_value as (partition by audit_run_id, task_id, strategy, variation, value),
        one_line as (partition by audit_run_id, task_id, strategy, variation, line)
),

numbered as (
    select
        *,
        line = '{}' as is_of_original,
        dense_rank() over (partition by audit_run_id, task_id, strategy order by prompt_variant_id)::integer as variant,
        dense_rank() over (partition by audit_run_id, task_id, strategy order by variation)::integer as kind_index,
        dense_rank() over (partition by audit_run_id, task_id, strategy, variation order by line)::integer as line_index,
        dense_rank() over (
            partition by audit_run_id, task_id, strategy, variation order by value nulls first
        )::integer as value_index,
        dense_rank() over (
            partition by audit_run_id, task_id, strategy, variation
            order by value_family nulls last, if(value_family is null, value, null) nulls last
        )::integer as unit
    from families
),

final as (
    select
        audit_run_id,
        task_id,
        strategy,
        variation,
        prompt_variant_id,
        variant,
        kind_index,
        line_index,
        value_index,
        if(value is null or value_family = original_family, null, unit) as unit_index,
        is_of_original
    from numbered
    where n_values > 1
)

select * from final
