with source as (
    select * from {{ source('raw', 'judge_wordings') }}
),

renamed as (
    select
        audit_run_id,
        judge_id,
        judge_key,
        rephrasing_key,
        wording_index,
        wording_key,
        rubric,
        is_original,
        rephraser_id,
        refused_because,
        landed_at
    from source
)

select * from renamed
