select
    prompt_variant_id,
    task_id,
    strategy,
    paraphrase_temperature,
    variant_index,
    is_original,
    instruction,
    repetitions,
    answer_schema,
    template,
    reader,
    model_ids,
    variation,
    setting
from raw.prompt_variants
where audit_run_id = $audit_run_id and refused_because is null
order by task_id, strategy, variant_index
