-- Two answers to one ask that two runs, models or strategies gave differently: the base's, then the candidate's ($run, $model).
-- Of each of the $most_examples samples that most pairs of answers tell apart in the direction of the verdict; the original
-- wording first.
with answers as (
    select
        predictions.audit_run_id,
        predictions.prediction_id,
        predictions.sample_id,
        predictions.is_original,
        predictions.paraphrase_temperature,
        predictions.variant_index,
        predictions.repetition,
        predictions.is_correct as is_known_correct,
        predictions.audit_run_id = $run and predictions.model_id = $model and predictions.strategy = $strategy as is_candidate,
        -- each run has originals of its own where its prompt changed
        if(
            predictions.is_original,
            concat_ws(' ', 'original', predictions.paraphrase_temperature),
            predictions.prompt_variant_id
        ) as variant,
        if(predictions.answer_status = 'valid', predictions.label, null) as known_label
    from marts.fct_predictions as predictions
    where
        predictions.task_id = $task
        and (
            (predictions.audit_run_id = $run and predictions.model_id = $model and predictions.strategy = $strategy)
            or (
                predictions.audit_run_id = $base_run
                and predictions.model_id = $base_model
                and predictions.strategy = $base_strategy
            )
        )
        and predictions.answer_status != 'error'
),

scores as (
    select
        audit_run_id,
        prediction_id,
        is_correct,
        row_number() over (
            partition by audit_run_id, prediction_id
            order by scoring_method != 'label_match', starts_with(scoring_method, 'judge:'), scoring_method
        ) as place
    from marts.fct_scores
    where
        task_id = $task
        and (
            (audit_run_id = $run and model_id = $model and strategy = $strategy)
            or (audit_run_id = $base_run and model_id = $base_model and strategy = $base_strategy)
        )
),

said as (
    select
        answers.*,
        coalesce(scores.is_correct, answers.is_known_correct) as is_correct
    from answers
    left join scores
        on
            answers.audit_run_id = scores.audit_run_id
            and answers.prediction_id = scores.prediction_id
            and scores.place = 1
),

pairs as (
    select
        bases.sample_id,
        bases.prediction_id as base_prediction_id,
        candidates.prediction_id,
        candidates.is_original,
        candidates.paraphrase_temperature,
        candidates.variant_index,
        candidates.repetition,
        case $verdict
            when 'improved' then not bases.is_correct and candidates.is_correct
            when 'regressed' then bases.is_correct and not candidates.is_correct
        end is true as follows_verdict
    from said as bases
    inner join said as candidates
        on
            not bases.is_candidate and candidates.is_candidate
            and bases.sample_id = candidates.sample_id
            and bases.variant = candidates.variant
            and bases.repetition = candidates.repetition
    where
        bases.known_label is distinct from candidates.known_label
        or bases.is_correct is distinct from candidates.is_correct
),

firsts as (
    select
        sample_id,
        base_prediction_id,
        prediction_id,
        count_if(follows_verdict) over (partition by sample_id) as n_followed,
        count(*) over (partition by sample_id) as n_pairs
    from pairs
    qualify row_number() over (
        partition by sample_id
        order by
            follows_verdict desc,
            is_original desc,
            paraphrase_temperature asc nulls first,
            variant_index asc,
            repetition asc
    ) = 1
),

chosen as (
    select
        base_prediction_id,
        prediction_id,
        row_number() over (order by n_followed desc, n_pairs desc, sample_id asc) as place
    from firsts
    qualify place <= $most_examples
)

select
    shown.task_id,
    shown.sample_id,
    shown.gold_label,
    shown.prediction_id,
    shown.prompt_variant_id,
    shown.paraphrase_temperature,
    shown.variant_index,
    shown.is_original,
    shown.repetition,
    said.known_label as label,
    said.is_correct,
    left(shown.completion, $long) as completion,
    left(variants.instruction, $long) as instruction,
    variants.variation,
    left(samples.input, $long) as input
from said
inner join chosen on said.prediction_id = if(said.is_candidate, chosen.prediction_id, chosen.base_prediction_id)
inner join marts.fct_predictions as shown on said.audit_run_id = shown.audit_run_id and said.prediction_id = shown.prediction_id
left join marts.dim_prompt_variants as variants
    on shown.audit_run_id = variants.audit_run_id and shown.prompt_variant_id = variants.prompt_variant_id
left join marts.dim_samples as samples
    on shown.audit_run_id = samples.audit_run_id and shown.task_id = samples.task_id and shown.sample_id = samples.sample_id
order by chosen.place, said.is_candidate
