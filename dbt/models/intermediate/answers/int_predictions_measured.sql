-- One row per prediction that takes part in the measures: an answer, from a variant that is not quarantined.
select
    predictions.audit_run_id,
    predictions.prediction_id,
    predictions.model_id,
    predictions.task_id,
    predictions.strategy,
    predictions.prompt_variant_id,
    wordings.wording_index,
    predictions.sample_id,
    predictions.sample_index,
    predictions.repetition,
    predictions.gold_label,
    predictions.answer_status,
    predictions.label,
    coalesce(predictions.label_index, -1) as label_index,
    case tasks.level when 'interval' then predictions.label else predictions.label_index::varchar end as annotation,
    predictions.is_correct,
    if(predictions.answer_status = 'empty', null, predictions.completion_md5) as completion_md5
from {{ ref('int_predictions_labelled') }} as predictions
inner join {{ ref('int_wordings_numbered') }} as wordings using (audit_run_id, prompt_variant_id)
inner join {{ ref('int_variants_measured') }} as variants using (audit_run_id, model_id, prompt_variant_id)
inner join {{ ref('stg_tasks') }} as tasks
    on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
where
    predictions.answer_status != 'error'
    and not variants.is_quarantined
    and tasks.kind is distinct from 'open_ended' -- no labels, so none of these measures
    and {{ in_this_build('predictions.audit_run_id') }}
    and {{ in_this_build('wordings.audit_run_id') }}
    and {{ in_this_build('variants.audit_run_id') }}
