-- a prediction that waits to land though its cell has another one, landed or beside it
select min(incoming.prediction_id) as prediction_id
from incoming
left join raw.predictions as landed
    on
        landed.audit_run_id = $run
        and incoming.model_id = landed.model_id
        and incoming.prompt_variant_id = landed.prompt_variant_id
        and incoming.sample_id = landed.sample_id
        and incoming.repetition = landed.repetition
group by incoming.model_id, incoming.prompt_variant_id, incoming.sample_id, incoming.repetition
having
    count(distinct incoming.prediction_id) > 1
    or bool_or(incoming.prediction_id != landed.prediction_id)
order by prediction_id
limit 1
