-- One row per prediction that takes part in the measures: an answer, from a variant that is not quarantined.
with predictions as {{ of_this_build('int_predictions_labelled', where="answer_status != 'error'") }},

wordings as {{ of_this_build('int_wordings_numbered') }},

families as {{ of_this_build('int_answer_families') }},

variants as {{ of_this_build('int_variants_measured', where='not is_quarantined') }},

-- an open task has no labels, so none of these measures
tasks as {{ of_this_build('stg_tasks', where=has_labels('kind')) }},

final as (
    select
        predictions.audit_run_id,
        predictions.prediction_id,
        predictions.model_id,
        predictions.task_id,
        predictions.strategy,
        predictions.prompt_variant_id,
        wordings.wording_index,
        coalesce(families.family_index, wordings.family_index) as family_index,
        predictions.sample_id,
        predictions.sample_index,
        predictions.repetition,
        predictions.gold_label,
        predictions.answer_status,
        predictions.label,
        coalesce(predictions.label_index, -1) as label_index,
        case tasks.level when 'interval' then predictions.label else predictions.label_index::varchar end as annotation,
        predictions.is_correct,
        predictions.mean_token_logprob,
        if(predictions.answer_status = 'empty', null, predictions.completion_md5) as completion_md5
    from predictions
    inner join wordings using (audit_run_id, prompt_variant_id)
    inner join variants using (audit_run_id, model_id, prompt_variant_id)
    left join families using (audit_run_id, model_id, prompt_variant_id)
    inner join tasks
        on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
)

select * from final
