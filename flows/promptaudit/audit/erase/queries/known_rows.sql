-- The ids of all samples, and of the rows that prompts show as examples
select sample_id from raw.samples
union
select unnest(json_extract_string(setting, '$.examples.rows[*]')) as sample_id from raw.prompt_variants
