select
    model_id,
    served_model,
    system_fingerprint,
    count(*) as n_answers
from labelled
group by all
order by all
