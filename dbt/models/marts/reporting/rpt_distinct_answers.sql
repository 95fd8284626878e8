-- One row per run, model, task, strategy and repetition of original wordings or paraphrase temperature of the others:
-- how many different completions one ask of all samples brings back. Exactly one of the two is NULL.
with formats as {{ of_this_build('int_answer_formats', where='n_landed > n_error') }},

variants as {{ of_this_build('stg_prompt_variants', where='is_original or paraphrase_temperature is not null') }},

asked as (
    select
        formats.audit_run_id,
        formats.model_id,
        formats.task_id,
        formats.strategy,
        if(variants.is_original, formats.repetition, null) as repetition,
        if(variants.is_original, null, variants.paraphrase_temperature) as paraphrase_temperature,
        formats.prompt_variant_id,
        formats.n_landed - formats.n_error as n_answers,
        formats.n_distinct_completions
    from formats
    inner join variants using (audit_run_id, prompt_variant_id)
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        repetition,
        paraphrase_temperature,
        count(distinct prompt_variant_id) as n_variants,
        avg(n_answers) as answers_mean,
        avg(n_distinct_completions) as distinct_completions_mean,
        {{ measure_version() }}
    from asked
    group by all
)

select * from final
