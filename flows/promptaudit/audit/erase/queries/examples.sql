-- One row per prompt variant of a run that shows a row of the data as a solved example. A run that was never finished asks
-- nothing any more once a newer one has taken its place.
select
    variants.audit_run_id,
    variants.prompt_variant_id,
    variants.task_id,
    variants.strategy,
    variants.instruction,
    variants.prompt,
    variants.answer_schema,
    variants.template,
    variants.setting,
    runs.state = 'running' and runs.origin = 'run' and not exists (
        from raw.audit_runs as newer
        where newer.audit_id = runs.audit_id and newer.origin = runs.origin and newer.run_index > runs.run_index
    ) as goes_on
from raw.prompt_variants as variants
inner join raw.audit_runs as runs using (audit_run_id)
where
    list_contains(json_extract_string(variants.setting, '$.examples.rows[*]'), $sample)
    and ($task is null or variants.task_id = $task)
order by variants.audit_run_id, variants.prompt_variant_id
