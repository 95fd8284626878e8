with source as (
    select * from {{ source('raw', 'seals') }}
),

renamed as (
    select
        audit_run_id,
        seal_index,
        reason,
        manifest,
        previous_seal,
        seal,
        sealed_at
    from source
)

select * from renamed
