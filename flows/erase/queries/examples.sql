-- The prompt variants of runs that show a row as a solved example
select
    audit_run_id,
    task_id,
    strategy,
    variant_index
from raw.prompt_variants
where
    list_contains(json_extract_string(setting, '$.examples.rows[*]'), $sample)
    and ($task is null or task_id = $task)
order by all
