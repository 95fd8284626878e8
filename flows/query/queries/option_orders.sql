-- One row per prompt variant and sample of a run whose options were shown in another order than the data's.
select
    prompt_variant_id,
    sample_id,
    option_order
from raw.option_orders
where audit_run_id = $run
