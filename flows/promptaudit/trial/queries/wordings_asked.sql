-- Under how many of these wordings a run asked each model each sample, where it did
select
    model_id,
    sample_id,
    count(distinct prompt_variant_id) as n_wordings
from marts.fct_predictions
where audit_run_id = $run and list_contains($variants, prompt_variant_id)
group by all
