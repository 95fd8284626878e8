-- of each classification its commonest answers, read and not, by who gave them
with answers as (
    select
        answers.task_id,
        answers.model_id,
        answers.strategy,
        answers.completion as answer,
        answers.label,
        answers.gold_label,
        answers.answer_status = 'unparsed' as is_unread,
        count(*) as n
    from marts.fct_predictions as answers
    inner join marts.dim_prompt_variants as variants using (audit_run_id, task_id, prompt_variant_id)
    where
        answers.audit_run_id = $run
        and answers.answer_status in ('valid', 'unparsed')
        and variants.reader is null
        and length(answers.completion) <= 20000
    group by all
),

counted as (
    select
        *,
        coalesce(sum(n) filter (is_unread) over (partition by task_id), 0)::bigint as n_unread,
        sum(n) over (partition by task_id)::bigint as n_answers,
        dense_rank() over (partition by task_id, is_unread order by n desc, answer asc) as place
    from answers
)

select
    counted.* exclude (place),
    tasks.labels,
    tasks.reader
from counted
inner join marts.dim_tasks as tasks on counted.task_id = tasks.task_id and tasks.audit_run_id = $run
where counted.place <= 300 and tasks.kind = 'classification'
order by all
