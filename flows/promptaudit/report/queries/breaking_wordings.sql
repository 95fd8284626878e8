-- by model, task and strategy: how many of its wordings break, which part of the answers of those that break their format gives
-- no label, and how often the others of them work
with formats as (
    select
        model_id,
        prompt_variant_id,
        bool_or(is_breaking) as is_of_format
    from marts.fct_answer_formats
    where audit_run_id = $run
    group by all
)

select
    model_id,
    task_id,
    strategy,
    count(*) as n,
    count(*) filter (is_of_format) as n_of_format,
    min(invalid_rate) filter (is_of_format) as invalid_rate_least,
    max(invalid_rate) filter (is_of_format) as invalid_rate_most,
    min(working_rate) filter (not is_of_format) as working_rate_least,
    max(working_rate) filter (not is_of_format) as working_rate_most,
    list(
        {
            'variant_index': variant_index,
            'paraphrase_temperature': paraphrase_temperature,
            'variation': variation
        }
        order by variant_index, paraphrase_temperature
    ) as variants
from marts.rpt_prompt_variants
inner join formats using (model_id, prompt_variant_id)
where audit_run_id = $run and is_breaking
group by all
