with source as (
    select * from {{ source('raw', 'tasks') }}
),

renamed as (
    select
        audit_run_id,
        task_id,
        kind,
        level,
        instruction,
        output_format,
        reader,
        refusal_pattern,
        card,
        fingerprint
    from source
)

select * from renamed
