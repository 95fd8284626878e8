-- One row per run, model, task, strategy, paraphrase temperature, variant and shared repetition: annotators of scope inter.
{{ config(materialized='view') }}
with numbered as {{ of_this_build('int_wordings_numbered') }},

variants as {{ of_this_build('int_variants_asked') }},

-- a repetition for a part of the samples is no replicate of the others
partly_asked as {{ of_this_build('int_cells_planned', where='is_partial') }},

wordings as (
    select
        numbered.*,
        variants.model_id
    from numbered
    inner join variants using (audit_run_id, prompt_variant_id)
),

temperatures as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy,
        paraphrase_temperature as group_temperature,
        count(paraphrase_temperature) over (partition by audit_run_id, model_id, task_id, strategy) > 0 as is_swept
    from wordings
),

-- an original without a temperature joins every temperature, one with a temperature only its own; what differs in another
-- respect than its wording is no group beside the temperatures that are swept, or a sweep's PSS would change with it
members as (
    select
        wordings.*,
        temperatures.group_temperature,
        row_number() over (
            one_group order by not wordings.is_original, wordings.variant_index, wordings.prompt_variant_id
        )::integer as annotator,
        count(*) over one_group as n_members
    from wordings
    inner join temperatures using (audit_run_id, model_id, task_id, strategy)
    where
        (
            wordings.paraphrase_temperature is not distinct from temperatures.group_temperature
            and not (
                temperatures.is_swept
                and wordings.paraphrase_temperature is null
                and not wordings.is_worded_alone
            )
        )
        or (wordings.is_original and wordings.paraphrase_temperature is null)
    window one_group as (
        partition by
            wordings.audit_run_id,
            wordings.model_id,
            wordings.task_id,
            wordings.strategy,
            temperatures.group_temperature
    )
),

asks as (
    select
        *,
        unnest(repetitions) as repetition
    from members
    where n_members >= 2
),

final as (
    select
        audit_run_id,
        'inter' as scope,
        model_id as group_model_id,
        task_id,
        strategy,
        group_temperature,
        annotator,
        repetition as replicate,
        model_id,
        prompt_variant_id,
        repetition,
        coalesce(instruction, prompt_variant_id) as wording
    from asks
    anti join partly_asked using (audit_run_id, model_id, prompt_variant_id, repetition)
    -- one alpha a repetition that all variants have
    qualify count(*) over (partition by audit_run_id, model_id, task_id, strategy, group_temperature, repetition) = n_members
)

select * from final
