select
    task_id,
    sample_id,
    strategy,
    model_id,
    label,
    count(*) as n
from top_answers
group by all
order by task_id asc, sample_id asc, strategy asc, model_id asc, n desc, label asc nulls last
