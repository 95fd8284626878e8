-- One row per prediction: its completion read to a label, and what became of it.
with tasks as (
    select
        tasks.audit_run_id,
        tasks.task_id,
        tasks.reader,
        tasks.refusal_pattern,
        -- none of an open task
        coalesce(list(labels.label order by labels.label_index) filter (labels.label is not null), []) as labels
    from {{ ref('stg_tasks') }} as tasks
    left join {{ ref('stg_task_labels') }} as labels using (audit_run_id, task_id)
    where {{ in_this_build('tasks.audit_run_id') }}
    group by all
),

predictions as (
    select
        predictions.*,
        variants.strategy,
        variants.paraphrase_temperature,
        variants.variant_index,
        variants.is_original,
        coalesce(variants.reader, tasks.reader) as reader
    from {{ ref('stg_predictions') }} as predictions
    inner join {{ ref('stg_prompt_variants') }} as variants using (audit_run_id, prompt_variant_id)
    inner join tasks
        on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
    where {{ in_this_build('predictions.audit_run_id') }} and {{ in_this_build('variants.audit_run_id') }}
),

-- models repeat themselves: each distinct answer of a task is read once
readings as (
    select
        answers.audit_run_id,
        answers.task_id,
        answers.reader,
        answers.completion,
        md5(answers.completion) as completion_md5,
        read_answer(answers.completion, answers.reader, tasks.labels, tasks.refusal_pattern) as reading
    from (
        select distinct
            audit_run_id,
            task_id,
            reader,
            completion
        from predictions
        where completion is not null
    ) as answers
    inner join tasks using (audit_run_id, task_id)
),

labelled as (
    select
        predictions.audit_run_id,
        predictions.prediction_id,
        predictions.model_id,
        predictions.task_id,
        predictions.strategy,
        predictions.prompt_variant_id,
        predictions.paraphrase_temperature,
        predictions.variant_index,
        predictions.is_original,
        predictions.sample_id,
        samples.sample_index,
        samples.gold_label,
        predictions.repetition,
        readings.completion_md5,
        case
            when predictions.completion is null then 'error'
            when readings.reading.is_blank then 'empty'
            when predictions.finish_reason = 'length' and not readings.reading.is_read then 'truncated'
            when readings.reading.is_read then 'valid'
            when predictions.is_flagged_refused or readings.reading.is_refusal then 'refused'
            else 'unparsed'
        end as answer_status,
        readings.reading.label as read_label,
        readings.reading.reason as unread_because
    from predictions
    inner join {{ ref('stg_samples') }} as samples
        on
            predictions.audit_run_id = samples.audit_run_id
            and predictions.task_id = samples.task_id
            and predictions.sample_id = samples.sample_id
    left join readings
        on
            predictions.audit_run_id = readings.audit_run_id
            and predictions.task_id = readings.task_id
            and predictions.reader = readings.reader
            and predictions.completion = readings.completion
    where {{ in_this_build('samples.audit_run_id') }}
),

final as (
    select
        labelled.* exclude (read_label),
        labels.label,
        labels.label_index,
        case
            when labelled.gold_label is not null and labelled.answer_status != 'error'
                then coalesce(labels.label = labelled.gold_label, false)
        end as is_correct
    from labelled
    left join {{ ref('stg_task_labels') }} as labels
        on
            labelled.audit_run_id = labels.audit_run_id
            and labelled.task_id = labels.task_id
            and labelled.read_label = labels.label
            and labelled.answer_status = 'valid'
)

select * from final
