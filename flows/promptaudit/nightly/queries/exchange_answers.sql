-- Gives answers of a run the text of another sample's answer to the same wording, which is right for that one; none where all
-- samples are answered alike.
with answers as (
    select
        predictions.*,
        coalesce(samples.gold_label, samples.reference_answers) as key,
        lower(trim(predictions.completion)) as said
    from raw.predictions as predictions
    inner join raw.samples as samples using (audit_run_id, task_id, sample_id)
    where predictions.audit_run_id = $run
),

exchanged as (
    select
        wrong.prediction_id,
        other.completion,
        other.is_completion_escaped,
        other.reasoning,
        other.token_logprobs,
        other.option_loglikelihoods,
        other.completion_tokens
    from answers as wrong
    left join answers as other
        on
            wrong.model_id = other.model_id
            and wrong.prompt_variant_id = other.prompt_variant_id
            and wrong.repetition = other.repetition
            and wrong.key is distinct from other.key
            and wrong.said is distinct from other.said
            and lower(wrong.key) is distinct from other.said
            and other.said is not null
            and not $to_nothing
    where list_contains($wrong, wrong.prediction_id)
    qualify
        row_number() over (
            partition by wrong.prediction_id
            order by md5(concat_ws(' ', $seed, wrong.sample_id, other.sample_id))
        ) = 1
)

update raw.predictions
set
    completion = coalesce(exchanged.completion, ''),
    is_completion_escaped = coalesce(exchanged.is_completion_escaped, false),
    reasoning = exchanged.reasoning,
    token_logprobs = exchanged.token_logprobs,
    option_loglikelihoods = exchanged.option_loglikelihoods,
    completion_tokens = exchanged.completion_tokens
from exchanged
where predictions.audit_run_id = $run and predictions.prediction_id = exchanged.prediction_id
