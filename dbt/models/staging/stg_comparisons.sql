with source as (
    select * from {{ source('raw', 'comparisons').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        comparison_id,
        base_run_id,
        candidate_run_id,
        base_model_id,
        candidate_model_id,
        base_strategy,
        candidate_strategy,
        min_effect,
        max_cost_increase,
        max_latency_increase,
        is_trial,
        requested_at
    from source
)

select * from renamed
