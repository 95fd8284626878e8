-- One row per prompt variant of a run, the rewordings that were refused among them.
select * exclude (audit_run_id)
from raw.prompt_variants
where audit_run_id = $run
order by task_id, strategy, paraphrase_temperature nulls first, variant_index, prompt_variant_id
