-- The answers to the sample of one model, task and strategy that depends most on the wording; one that some wordings answer
-- rightly comes first. Where labels are not measured it is the one of which a scoring method finds both right and wrong; where
-- $field is one of extraction the rule of that field, and what stands in it is the answer.
with field_values as (
    select
        prediction_id,
        sample_id,
        field,
        raw_value,
        value,
        gold_value,
        is_correct
    from marts.fct_field_values
    where
        audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy and field = $field
        and prediction_id in (
            select predictions.prediction_id
            from marts.fct_predictions as predictions
            where predictions.audit_run_id = $run and predictions.answer_status != 'error'
        )
),

by_labels as (
    select
        sample_id,
        (n_correct > 0 and n_correct < n_predictions) is not true as is_later,
        -sensitivity as place
    from marts.fct_sensitivity
    where
        audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy and sensitivity > 0
),

by_scores as (
    select
        sample_id,
        true as is_later,
        abs(avg(is_correct::integer) - 0.5) as place
    from marts.fct_scores
    where
        audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy
        and not exists (from by_labels) and not exists (from field_values)
    group by sample_id
    having bool_or(is_correct) and not bool_and(is_correct)
),

by_field as (
    select
        sample_id,
        true as is_later,
        abs(avg(is_correct::integer) - 0.5) as place
    from field_values
    group by sample_id
    having bool_or(is_correct) and not bool_and(is_correct)
),

chosen as (
    select candidates.sample_id
    from (
        from by_labels
        union all
        from by_scores
        union all
        from by_field
    ) as candidates
    order by candidates.is_later asc, candidates.place asc, candidates.sample_id asc
    limit 1
),

scores as (
    select
        prediction_id,
        is_correct,
        row_number() over (
            partition by prediction_id
            order by scoring_method != 'label_match', starts_with(scoring_method, 'judge:'), scoring_method
        ) as place
    from marts.fct_scores
    where
        audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy
        and sample_id = (select chosen.sample_id from chosen)
)

select
    said.task_id,
    said.sample_id,
    field_values.field,
    coalesce(field_values.gold_value, said.gold_label) as gold_label,
    said.prediction_id,
    said.prompt_variant_id,
    said.paraphrase_temperature,
    said.variant_index,
    said.is_original,
    said.repetition,
    if(said.answer_status = 'valid', said.label, null) as label,
    coalesce(field_values.is_correct, scores.is_correct, said.is_correct) as is_correct,
    left(
        case when field_values.value = '' then '' else coalesce(field_values.raw_value, said.completion) end, $long
    ) as completion,
    left(variants.instruction, $long) as instruction,
    variants.variation,
    left(samples.input, $long) as input
from marts.fct_predictions as said
left join scores on said.prediction_id = scores.prediction_id and scores.place = 1
left join field_values on said.prediction_id = field_values.prediction_id
left join marts.dim_prompt_variants as variants
    on said.audit_run_id = variants.audit_run_id and said.prompt_variant_id = variants.prompt_variant_id
left join marts.dim_samples as samples
    on said.audit_run_id = samples.audit_run_id and said.task_id = samples.task_id and said.sample_id = samples.sample_id
where
    said.audit_run_id = $run and said.model_id = $model and said.task_id = $task and said.strategy = $strategy
    and said.sample_id = (select chosen.sample_id from chosen)
    and said.answer_status != 'error'
order by
    said.is_original desc, said.paraphrase_temperature asc nulls first, said.variant_index asc, said.repetition asc,
    said.prompt_variant_id asc
