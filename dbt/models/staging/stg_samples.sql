with source as (
    select * from {{ source('raw', 'samples') }}
),

renamed as (
    select
        audit_run_id,
        task_id,
        sample_id,
        sample_index,
        input,
        gold_label,
        fields
    from source
)

select * from renamed
