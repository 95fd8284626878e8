-- One row per prediction that takes part in the measures: an answer, whatever became of it, to any variant that was asked.
with predictions as {{ of_this_build('int_predictions_labelled', where="answer_status != 'error'") }},

wordings as {{ of_this_build('int_wordings_numbered') }},

families as {{ of_this_build('int_answer_families') }},

-- an open task has no labels, so none of these measures
tasks as {{ of_this_build('stg_tasks', where=has_labels('kind')) }},

-- without labels every answer would be the one label N/A
with_labels as (
    select distinct
        audit_run_id,
        task_id
    from {{ ref('stg_task_labels') }}
    where {{ in_this_build() }}
),

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
        -- N/A has no place on a scale: at nominal level alone it is a label as any other
        case tasks.level
            when 'interval' then predictions.label
            when 'ordinal' then predictions.label_index::varchar
            else coalesce(predictions.label_index, if(with_labels.task_id is null, null, -1))::varchar
        end as annotation,
        predictions.is_correct,
        predictions.mean_token_logprob,
        if(predictions.answer_status = 'empty', null, predictions.completion_md5) as completion_md5
    from predictions
    inner join wordings using (audit_run_id, prompt_variant_id)
    left join families using (audit_run_id, model_id, prompt_variant_id)
    inner join tasks
        on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
    left join with_labels
        on predictions.audit_run_id = with_labels.audit_run_id and predictions.task_id = with_labels.task_id
)

select * from final
