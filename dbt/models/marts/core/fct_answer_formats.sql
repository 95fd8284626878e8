-- One row per run, model, task, prompt variant and repetition: what became of its answers.
select
    formats.audit_run_id,
    formats.model_id,
    formats.task_id,
    formats.strategy,
    formats.prompt_variant_id,
    formats.repetition,
    formats.n_planned,
    formats.n_landed,
    formats.n_missing,
    formats.n_valid,
    formats.n_empty,
    formats.n_truncated,
    formats.n_refused,
    formats.n_unparsed,
    formats.n_error,
    formats.invalid_rate,
    formats.n_distinct_completions,
    variants.is_quarantined,
    variants.quarantine_reason,
    {{ measure_version() }}
from {{ ref('int_answer_formats') }} as formats
inner join {{ ref('int_variants_measured') }} as variants using (audit_run_id, model_id, prompt_variant_id)
where {{ in_this_build('formats.audit_run_id') }} and {{ in_this_build('variants.audit_run_id') }}
