select
    formats.model_id,
    formats.task_id,
    formats.prompt_variant_id,
    any_value(variants.variant_index) as variant_index,
    any_value(variants.strategy) as strategy,
    sum(formats.n_missing)::double as n_missing,
    coalesce(sum(n_landed - n_error - n_valid) / nullif(sum(n_landed - n_error), 0), 0) as invalid_rate,
    coalesce(sum(n_empty) / nullif(sum(n_landed - n_error), 0), 0) as empty_rate,
    coalesce(sum(n_error) / nullif(sum(formats.n_planned), 0), 0) as error_rate,
    any_value(texts.n_distinct_completions)::double as n_distinct_completions,
    any_value(texts.n_outside_labels)::double as n_outside_labels
from intermediate.int_answer_formats as formats
inner join raw.prompt_variants as variants using (audit_run_id, prompt_variant_id)
left join (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        count(distinct completion_md5) as n_distinct_completions,
        count(*) filter (
            answer_status = 'valid' and label is null and kind not in ('open_ended', 'extraction')
        ) as n_outside_labels
    from intermediate.int_predictions_labelled
    inner join staging.stg_tasks using (audit_run_id, task_id)
    where audit_run_id = $run
    group by all
) as texts using (audit_run_id, model_id, prompt_variant_id)
where formats.audit_run_id = $run
group by all
order by formats.task_id, strategy, variant_index, formats.model_id
