with source as (
    select * from {{ source('raw', 'samples').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        task_id,
        sample_id,
        sample_index,
        input,
        gold_label,
        from_json(options, '["VARCHAR"]') as options,
        from_json(reference_answers, '["VARCHAR"]') as reference_answers,
        gold_label is not null or reference_answers is not null as has_key,
        fields,
        cluster,
        coalesce(is_critical, false) as is_critical
    from source
)

select * from renamed
