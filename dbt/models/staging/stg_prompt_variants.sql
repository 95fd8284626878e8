with source as (
    select * from {{ source('raw', 'prompt_variants').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        prompt_variant_id,
        task_id,
        strategy,
        paraphrase_temperature,
        variant_index,
        is_original,
        is_edited,
        instruction,
        output_format,
        prompt,
        answer_schema,
        template,
        reader,
        repetitions,
        len(repetitions) as n_repetitions,
        rephraser_id,
        rephrasing_key,
        refused_because,
        refused_because is not null as is_refused,
        model_ids,
        coalesce(
            variation,
            case
                when is_original then 'original'
                when template is not null and rephraser_id is null then 'template'
                else 'wording'
            end
        ) as variation,
        is_original or coalesce(variation, 'wording') in ('original', 'wording', 'template') as is_worded_alone,
        setting
    from source
)

select * from renamed
