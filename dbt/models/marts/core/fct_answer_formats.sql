-- One row per run, model, task, prompt variant and repetition: what became of its answers.
with formats as {{ of_this_build('int_answer_formats') }},

variants as {{ of_this_build('int_variants_asked') }},

final as (
    select
        formats.*,
        variants.is_breaking,
        variants.breaking_reason,
        {{ measure_version() }}
    from formats
    inner join variants using (audit_run_id, model_id, prompt_variant_id)
)

select * from final
