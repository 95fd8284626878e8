-- One row per run, scope and group: its annotations as parallel lists, ready for krippendorff's alpha.
select
    annotators.audit_run_id,
    annotators.scope,
    annotators.group_model_id as model_id,
    annotators.task_id,
    annotators.strategy,
    annotators.group_temperature as paraphrase_temperature,
    list(measured.sample_index) as samples,
    list(annotators.annotator) as annotators,
    list(annotators.replicate) as replicates,
    list(measured.annotation) as annotations,
    list(measured.completion_md5) as completions
from {{ ref('int_annotators') }} as annotators
inner join {{ ref('int_predictions_measured') }} as measured
    using (audit_run_id, model_id, prompt_variant_id, repetition)
where {{ in_this_build('annotators.audit_run_id') }} and {{ in_this_build('measured.audit_run_id') }}
group by all
