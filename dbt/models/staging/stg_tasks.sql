with source as (
    select * from {{ source('raw', 'tasks').include(database=false) }}
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
        -- runs of before this column had no other rule
        from_json(coalesce(scoring_methods, '["label_match"]'), '["VARCHAR"]') as scoring_methods,
        token_f1_threshold,
        coalesce(card ->> '$.sensitive' = 'true', false) as is_sensitive,
        card,
        fingerprint,
        recorded_at
    from source
    -- a card may change in what asks nothing, a reader or a scoring method: what it is now holds
    qualify recorded_at is not distinct from max(recorded_at) over (partition by audit_run_id, task_id)
)

select * from renamed
