-- One row per run, model, task, prompt variant and repetition: what became of its answers.
with formats as (
    select * from {{ ref('int_answer_formats') }}
    where {{ in_this_build() }}
),

variants as (
    select * from {{ ref('int_variants_measured') }}
    where {{ in_this_build() }}
),

final as (
    select
        formats.*,
        variants.is_quarantined,
        variants.quarantine_reason,
        {{ measure_version() }}
    from formats
    inner join variants using (audit_run_id, model_id, prompt_variant_id)
)

select * from final
