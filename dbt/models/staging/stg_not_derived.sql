with source as (
    select * from {{ source('raw', 'not_derived').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        not_derived_id,
        part,
        measure,
        comparison_id,
        model_id,
        task_id,
        strategy,
        relation,
        reason,
        told_at
    from source
)

select * from renamed
