-- One row per run, task and answer that somebody ruled on: how many predictions say it.
select
    labelled.audit_run_id,
    labelled.task_id,
    md5(concat_ws(chr(0), labelled.sample_id, coalesce(variants.reader, ''), labelled.completion_md5)) as answer,
    count(*) as n_predictions
from {{ ref('int_predictions_labelled') }} as labelled
inner join {{ ref('stg_prompt_variants') }} as variants using (audit_run_id, prompt_variant_id)
semi join {{ ref('int_verdicts_counted') }} as counted
    on
        labelled.audit_run_id = counted.audit_run_id
        and labelled.task_id = counted.task_id
        and labelled.sample_id = counted.sample_id
        and labelled.completion_md5 = counted.completion_md5
where {{ in_this_build('labelled.audit_run_id') }}
group by all
