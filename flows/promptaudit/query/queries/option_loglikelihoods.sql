-- One row per prediction of a run whose options an engine or another program weighed.
select
    prediction_id,
    option_loglikelihoods
from raw.predictions
where audit_run_id = $run and option_loglikelihoods is not null
