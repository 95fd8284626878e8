-- the cells of a run that landed without a completion, but for those whose texts were erased
select predictions.*
from raw.predictions as predictions
left join raw.erasures as erasures
    on
        predictions.audit_run_id = erasures.audit_run_id
        and predictions.task_id = erasures.task_id
        and predictions.sample_id = erasures.sample_id
where
    predictions.audit_run_id = $run
    and predictions.completion is null
    and predictions.error is not null
    and erasures.sample_id is null
