-- One row per run, task, strategy and model, where there are several: annotators of scope inter_model.
-- Each model answers for itself with the original wording, asked once.
{{ config(materialized='view') }}
with wordings as {{ of_this_build('int_wordings_numbered', where='is_original') }},

variants as {{ of_this_build('int_variants_asked') }},

originals as (
    select
        variants.audit_run_id,
        variants.model_id,
        wordings.task_id,
        wordings.strategy,
        wordings.prompt_variant_id,
        wordings.instruction,
        list_min(wordings.repetitions) as repetition
    from wordings
    inner join variants using (audit_run_id, prompt_variant_id)
    qualify
        row_number() over (
            partition by variants.audit_run_id, variants.model_id, wordings.task_id, wordings.strategy
            order by wordings.paraphrase_temperature nulls first, wordings.prompt_variant_id
        ) = 1
),

final as (
    select
        audit_run_id,
        'inter_model' as scope,
        null::varchar as group_model_id,
        task_id,
        strategy,
        null::double as group_temperature,
        row_number() over (partition by audit_run_id, task_id, strategy order by model_id)::integer as annotator,
        1 as replicate,
        model_id,
        prompt_variant_id,
        repetition,
        coalesce(instruction, prompt_variant_id) as wording
    from originals
    where repetition = 1
    qualify count(*) over (partition by audit_run_id, task_id, strategy) >= 2
)

select * from final
