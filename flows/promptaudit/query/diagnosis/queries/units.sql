-- the scorecard's figures, and how many samples change their label with the wording, as the page counts them
select
    cards.model_id,
    cards.task_id,
    cards.strategy,
    cards.n_samples,
    cards.invalid_rate,
    cards.invalid_rate_low,
    spreads.n_samples as n_samples_compared,
    spreads.n_samples - spreads.n_steady as n_samples_changed,
    cards as figures
from marts.rpt_audit as cards
left join marts.rpt_sample_spreads as spreads using (audit_run_id, model_id, task_id, strategy)
where cards.audit_run_id = $run
order by cards.model_id, cards.task_id, cards.strategy
