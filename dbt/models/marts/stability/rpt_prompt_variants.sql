-- One row per run, model, task, strategy and prompt variant: its text, how many of its answers could not be read, over all its
-- asks, how far its labels differ from those of the other variants, and whether it breaks. Of a sample they differ by 1 less the
-- chance that the variant and another one give it the same label, N/A among them; variants weigh equally whatever their
-- repetitions.
with working as {{ of_this_build('int_wordings_working') }},

formats as {{ of_this_build('fct_answer_formats') }},

variants as {{ of_this_build('dim_prompt_variants') }},

ruled as {{ of_this_build('int_wordings_ruled') }},

counted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        sum(n_landed - n_error)::bigint as n_answers,
        sum(n_landed - n_error - n_valid)::bigint as n_invalid,
        bool_or(is_breaking) as is_breaking_format
    from formats
    group by all
),

final as (
    select
        counted.audit_run_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        counted.prompt_variant_id,
        variants.paraphrase_temperature,
        variants.variant_index,
        variants.is_original,
        variants.instruction,
        variants.output_format,
        variants.prompt,
        counted.n_answers,
        counted.n_invalid,
        counted.n_invalid / nullif(counted.n_answers, 0) as invalid_rate,
        working.n_samples_compared,
        working.disagreement,
        variants.variation,
        working.working_rate,
        working.working_rate_of_others,
        coalesce(working.is_breaking, counted.is_breaking_format) as is_breaking,
        ruled.asks_the_same,
        ruled.reason as meaning_reason,
        {{ measure_version() }}
    from counted
    inner join variants using (audit_run_id, prompt_variant_id)
    left join working using (audit_run_id, model_id, prompt_variant_id)
    left join ruled using (audit_run_id, prompt_variant_id)
)

select * from final
