select
    prompt_variant_id,
    task_id,
    strategy,
    paraphrase_temperature,
    variant_index,
    is_original,
    variants.variation,
    left(instruction, $long) as instruction
from marts.dim_prompt_variants as variants
where audit_run_id = $run and not is_refused
order by task_id, strategy, paraphrase_temperature nulls first, variant_index, prompt_variant_id
