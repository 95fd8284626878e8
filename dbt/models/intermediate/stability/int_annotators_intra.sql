-- One row per run, model, task, strategy and ask of the original wording: an annotator of scope intra.
-- An original asked again under several paraphrase temperatures is still the original: those asks follow each other.
{{ config(materialized='view') }}
with wordings as {{ of_this_build('int_wordings_numbered', where='is_original') }},

variants as {{ of_this_build('int_variants_asked') }},

asks as (
    select
        wordings.*,
        variants.model_id,
        unnest(wordings.repetitions) as repetition
    from wordings
    inner join variants using (audit_run_id, prompt_variant_id)
),

final as (
    select
        audit_run_id,
        'intra' as scope,
        model_id as group_model_id,
        task_id,
        strategy,
        null::double as group_temperature,
        dense_rank() over (
            partition by audit_run_id, model_id, task_id, strategy
            order by paraphrase_temperature nulls first, prompt_variant_id, repetition
        )::integer as annotator,
        1 as replicate,
        model_id,
        prompt_variant_id,
        repetition,
        coalesce(instruction, prompt_variant_id) as wording
    from asks
)

select * from final
