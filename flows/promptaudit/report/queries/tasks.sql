select
    task_id,
    kind,
    level,
    fingerprint,
    labels,
    left(instruction, $long) as instruction,
    -- from the card, for copies that were published before the column was there
    coalesce(card ->> '$.sensitive' = 'true', false) as is_sensitive,
    from_json(coalesce(json_extract(card, '$.pair_classes'), '[]'), '["VARCHAR"]') as pair_classes
from marts.dim_tasks
where audit_run_id = $run
order by task_id
