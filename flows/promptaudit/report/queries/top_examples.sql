with counted as (
    select
        task_id,
        sample_id,
        strategy,
        model_id,
        label,
        completion,
        count(*) as n
    from top_answers
    group by all
),

ranked as (
    select
        *,
        row_number() over (
            partition by task_id, sample_id, strategy, model_id, label order by n desc, completion asc
        ) as place
    from counted
)

-- an example of each label first, the commonest of each
select
    task_id,
    sample_id,
    strategy,
    model_id,
    label,
    completion,
    n
from ranked
qualify
    row_number() over (
        partition by task_id, sample_id, strategy, model_id order by place asc, n desc, label asc nulls last
    ) <= $examples
order by task_id asc, sample_id asc, strategy asc, model_id asc, n desc, completion asc
