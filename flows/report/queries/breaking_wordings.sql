-- by model, task and strategy: how many of its wordings break, and which part of their answers gives no label
select
    model_id,
    task_id,
    strategy,
    count(*) as n,
    min(invalid_rate) as invalid_rate_least,
    max(invalid_rate) as invalid_rate_most,
    min(working_rate) as working_rate_least,
    max(working_rate) as working_rate_most,
    list(
        {
            'variant_index': variant_index,
            'paraphrase_temperature': paraphrase_temperature,
            'variation': variation
        }
        order by variant_index, paraphrase_temperature
    ) as variants
from marts.rpt_prompt_variants
where audit_run_id = $run and is_breaking
group by all
