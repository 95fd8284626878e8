select
    model_id,
    engine,
    model,
    fingerprint,
    input_usd_per_mtok,
    output_usd_per_mtok
from marts.dim_models
where audit_run_id = $run
order by model_id
