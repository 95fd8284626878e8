-- One row per prediction: its completion read to a label, and what became of it.
with landed as {{ of_this_build('stg_predictions') }},

variants as {{ of_this_build('stg_prompt_variants') }},

samples as {{ of_this_build('stg_samples') }},

tasks as {{ of_this_build('stg_tasks') }},

labels as {{ of_this_build('stg_task_labels') }},

option_orders as {{ of_this_build('stg_option_orders') }},

readers as (
    select
        tasks.audit_run_id,
        tasks.task_id,
        tasks.reader,
        tasks.refusal_pattern,
        -- none of an open task
        coalesce(list(labels.label order by labels.label_index) filter (labels.label is not null), []) as labels
    from tasks
    left join labels using (audit_run_id, task_id)
    group by all
),

predictions as (
    select
        landed.* exclude (option_order),
        variants.strategy,
        variants.paraphrase_temperature,
        variants.variant_index,
        variants.is_original,
        case
            when json_valid(landed.token_logprobs)
                then list_avg(try_cast(json_extract(landed.token_logprobs, '$[*].logprob') as double[]))
        end as mean_token_logprob,
        coalesce(variants.reader, readers.reader) as reader,
        coalesce(landed.option_order, option_orders.option_order) as option_order
    from landed
    inner join variants using (audit_run_id, prompt_variant_id)
    left join option_orders using (audit_run_id, prompt_variant_id, sample_id)
    inner join readers
        on landed.audit_run_id = readers.audit_run_id and landed.task_id = readers.task_id
),

-- models repeat themselves: each distinct answer of a task is read once
answers as (
    select distinct
        audit_run_id,
        task_id,
        reader,
        completion
    from predictions
    where completion is not null
),

readings as (
    select
        answers.audit_run_id,
        answers.task_id,
        answers.reader,
        answers.completion,
        md5(answers.completion) as completion_md5,
        read_answer(answers.completion, answers.reader, readers.labels, readers.refusal_pattern) as reading
    from answers
    inner join readers using (audit_run_id, task_id)
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
        predictions.option_order,
        readings.completion_md5,
        predictions.mean_token_logprob,
        case
            when predictions.completion is null then 'error'
            when readings.reading.is_blank and predictions.is_flagged_refused then 'refused'
            when readings.reading.is_blank then 'empty'
            when predictions.finish_reason = 'length' and not readings.reading.is_read then 'truncated'
            when readings.reading.is_read then 'valid'
            when predictions.is_flagged_refused or readings.reading.is_refusal then 'refused'
            else 'unparsed'
        end as answer_status,
        readings.reading.label as read_label,
        readings.reading.reason as unread_because
    from predictions
    inner join samples using (audit_run_id, task_id, sample_id)
    left join readings using (audit_run_id, task_id, reader, completion)
),

-- an answer names a place among the options as they were shown, and means the option that stood there
meant as (
    select
        labelled.* exclude (read_label),
        coalesce(labelled.option_order[labels.label_index + 1], labels.label_index) as read_label_index
    from labelled
    left join labels
        on
            labelled.audit_run_id = labels.audit_run_id
            and labelled.task_id = labels.task_id
            and labelled.read_label = labels.label
            and labelled.answer_status = 'valid'
),

final as (
    select
        meant.* exclude (read_label_index),
        labels.label,
        labels.label_index,
        case
            when meant.gold_label is not null and meant.answer_status != 'error'
                then coalesce(labels.label = meant.gold_label, false)
        end as is_correct
    from meant
    left join labels
        on
            meant.audit_run_id = labels.audit_run_id
            and meant.task_id = labels.task_id
            and meant.read_label_index = labels.label_index
)

select * from final
