-- the same as flows/promptaudit/query/diagnosis/queries/read_answers.sql, of a run that is not published
with answers as (
    select
        answers.task_id,
        answers.model_id,
        answers.strategy,
        landed.completion as answer,
        answers.label,
        samples.gold_label,
        answers.answer_status = 'unparsed' as is_unread,
        count(*) as n
    from intermediate.int_predictions_labelled as answers
    inner join raw.predictions as landed using (audit_run_id, prediction_id)
    inner join raw.prompt_variants as variants
        on answers.audit_run_id = variants.audit_run_id and answers.prompt_variant_id = variants.prompt_variant_id
    inner join raw.samples as samples
        on
            answers.audit_run_id = samples.audit_run_id
            and answers.task_id = samples.task_id
            and answers.sample_id = samples.sample_id
    where
        answers.audit_run_id = $run
        and answers.answer_status in ('valid', 'unparsed')
        and variants.reader is null
        and length(landed.completion) <= 20000
    group by all
),

counted as (
    select
        *,
        coalesce(sum(n) filter (is_unread) over (partition by task_id), 0)::bigint as n_unread,
        sum(n) over (partition by task_id)::bigint as n_answers,
        dense_rank() over (partition by task_id, is_unread order by n desc, answer asc) as place
    from answers
),

labels as (
    select
        task_id,
        list(label order by label_index) as labels
    from raw.task_labels
    where audit_run_id = $run
    group by all
)

select
    counted.* exclude (place),
    labels.labels,
    coalesce(tasks.card ->> '$.sensitive' = 'true', false) as is_sensitive
from counted
inner join labels using (task_id)
inner join raw.tasks as tasks on counted.task_id = tasks.task_id and tasks.audit_run_id = $run
where counted.n_unread > 0 and counted.place <= 300 and tasks.kind = 'classification'
order by all
