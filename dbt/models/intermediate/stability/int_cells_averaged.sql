-- One row per run, model, task, strategy, prompt variant and sample: shares of its repetitions right and invalid.
select
    audit_run_id,
    model_id,
    task_id,
    strategy,
    prompt_variant_id,
    wording_index,
    sample_index,
    avg(is_correct::integer) as accuracy,
    avg((answer_status != 'valid')::integer) as invalid_share
from {{ ref('int_predictions_measured') }}
where {{ in_this_build() }}
group by all
