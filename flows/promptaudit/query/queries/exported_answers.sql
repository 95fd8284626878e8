-- One row per prediction of a run: what was asked and of whom, what was said, what it was read as, and what is right.
with answers as (
    select * from marts.fct_predictions
    where audit_run_id = $run
),

asked as (
    select distinct
        prompt_variant_id,
        task_id,
        strategy,
        paraphrase_temperature,
        variant_index,
        is_original
    from answers
),

-- models that reword for themselves have variants of the same number
shared as (
    select
        task_id,
        strategy,
        paraphrase_temperature
    from asked
    group by all
    having count(*) > count(distinct variant_index)
),

numbered as (
    select
        asked.prompt_variant_id,
        if(
            shared.task_id is null,
            asked.variant_index,
            row_number() over (
                partition by asked.task_id, asked.strategy, asked.paraphrase_temperature
                order by not asked.is_original, asked.variant_index, asked.prompt_variant_id
            ) - 1
        ) as variant_index
    from asked
    left join shared
        on
            asked.task_id = shared.task_id
            and asked.strategy = shared.strategy
            and asked.paraphrase_temperature is not distinct from shared.paraphrase_temperature
),

final as (
    select
        answers.prediction_id,
        answers.prompt_variant_id,
        answers.model_id as model,
        answers.task_id as task,
        tasks.kind,
        tasks.level,
        tasks.labels,
        tasks.reader,
        tasks.scoring_methods as scoring,
        tasks.token_f1_threshold,
        tasks.refusal_pattern,
        answers.strategy,
        answers.paraphrase_temperature,
        numbered.variant_index::integer as variant_index,
        answers.is_original,
        coalesce(variants.instruction, variants.template) as instruction,
        variants.variation,
        variants.setting,
        variants.output_format,
        variants.prompt,
        from_json(json_extract(variants.reader, '$.option_letter'), '["VARCHAR"]') as option_signs,
        answers.sample_id,
        samples.input,
        samples.options as choices,
        coalesce(landed.option_order, orders.option_order) as option_order,
        landed.option_loglikelihoods,
        samples.reference_answers as "references",
        answers.repetition,
        answers.completion,
        answers.finish_reason,
        answers.prompt_tokens,
        answers.completion_tokens,
        answers.cost_usd,
        answers.latency_ms,
        answers.gold_label,
        answers.label,
        answers.answer_status,
        answers.answer_status = 'refused' as is_refused,
        answers.is_correct,
        coalesce(tasks.is_sensitive, false) as is_sensitive
    from answers
    inner join numbered using (prompt_variant_id)
    inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
    inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
    inner join marts.dim_prompt_variants as variants using (audit_run_id, task_id, prompt_variant_id)
    -- the raw rows of a retired run are not there
    left join raw.predictions as landed using (audit_run_id, prediction_id)
    left join raw.option_orders as orders using (audit_run_id, prompt_variant_id, sample_id)
    order by
        answers.task_id, samples.sample_index, answers.model_id, answers.strategy, answers.paraphrase_temperature nulls first,
        numbered.variant_index, answers.repetition
)

select * from final
