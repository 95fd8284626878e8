with source as (
    select * from {{ source('raw', 'judges').include(database=false) }}
),

-- a judge may change while its run is judged: what it is now holds
renamed as (
    select
        audit_run_id,
        judge_id,
        judge_key,
        model_id,
        panel,
        nullif(from_json(json_extract(card, '$.tasks'), '["VARCHAR"]'), []) as task_ids,
        repetitions,
        max_asks,
        coalesce(json_extract_string(card, '$.references'), '') != 'none' as needs_key,
        card,
        model_card,
        recorded_at
    from source
    qualify recorded_at = max(recorded_at) over (partition by audit_run_id, judge_id)
)

select * from renamed
