-- One row per prediction and field of a task of kind extraction: what the answer says there, and whether it is right.
with tasks as {{ of_this_build('stg_tasks', where="kind = 'extraction'") }},

labelled as {{ of_this_build('int_predictions_labelled') }},

landed as {{ of_this_build('stg_predictions') }},

samples as {{ of_this_build('stg_samples') }},

predictions as (
    select
        labelled.audit_run_id,
        labelled.prediction_id,
        labelled.model_id,
        labelled.task_id,
        labelled.strategy,
        labelled.prompt_variant_id,
        labelled.sample_id,
        labelled.repetition,
        labelled.answer_status,
        -- what is no answer has no fields
        if(labelled.answer_status = 'valid', labelled.completion_md5, '') as completion_md5
    from labelled
    inner join tasks using (audit_run_id, task_id)
),

-- models repeat themselves: each distinct answer to a question is read once
answers as (
    select distinct
        predictions.audit_run_id,
        predictions.task_id,
        predictions.sample_id,
        predictions.completion_md5,
        if(predictions.answer_status = 'valid', landed.completion, null) as completion
    from predictions
    inner join landed using (audit_run_id, prediction_id)
),

readings as (
    select
        answers.audit_run_id,
        answers.task_id,
        answers.sample_id,
        answers.completion_md5,
        unnest(read_fields(answers.completion, tasks.reader, samples.reference_answers[1])) as reading
    from answers
    inner join tasks using (audit_run_id, task_id)
    inner join samples using (audit_run_id, task_id, sample_id)
),

final as (
    select
        predictions.audit_run_id,
        predictions.prediction_id,
        predictions.model_id,
        predictions.task_id,
        predictions.strategy,
        predictions.prompt_variant_id,
        predictions.sample_id,
        predictions.repetition,
        predictions.answer_status,
        readings.reading.field as field,
        readings.reading.raw_value as raw_value,
        readings.reading.value as value,
        readings.reading.gold_value as gold_value,
        if(predictions.answer_status = 'error', null, readings.reading.score) as score,
        if(predictions.answer_status = 'error', null, readings.reading.is_correct) as is_correct,
        {{ measure_version() }}
    from predictions
    inner join readings using (audit_run_id, task_id, sample_id, completion_md5)
)

select * from final
