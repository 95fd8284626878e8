with source as (
    select * from {{ source('raw', 'task_labels').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        task_id,
        label,
        label_index,
        description
    from source
)

select * from renamed
