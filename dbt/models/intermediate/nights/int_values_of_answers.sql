-- One row per run, model, task, strategy, measure and sample: what answers alone say of the sample.
-- Of answer_length and completion_tokens it is ln(1 + count), so that a difference is a ratio.
{{ config(materialized='view') }}
with measured as {{ of_this_build('int_predictions_measured') }},

by_wording as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        prompt_variant_id,
        avg(is_correct::integer) as share_right,
        avg((label is null)::integer) as share_invalid
    from measured
    group by all
),

-- of open tasks too
answers as {{ of_this_build('fct_predictions', where="answer_status != 'error'") }},

samples as {{ of_this_build('stg_samples') }},

answers_by_wording as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        prompt_variant_id,
        avg(ln(1 + length(completion))) as answer_length,
        avg(ln(1 + completion_tokens)) as completion_tokens,
        avg((finish_reason = 'length')::integer) as token_limit_rate,
        avg((answer_status = 'refused')::integer) as refusal_rate
    from answers
    group by all
),

answers_averaged as (
    select
        answers_by_wording.audit_run_id,
        answers_by_wording.model_id,
        answers_by_wording.task_id,
        answers_by_wording.strategy,
        samples.sample_index,
        unnest([
            -- rounded, so that equal answers have equal values in whatever order they are summed
            {'measure': 'answer_length', 'figure': round(avg(answers_by_wording.answer_length), 11)},
            {'measure': 'completion_tokens', 'figure': round(avg(answers_by_wording.completion_tokens), 11)},
            {'measure': 'token_limit_rate', 'figure': avg(answers_by_wording.token_limit_rate)},
            {'measure': 'refusal_rate', 'figure': avg(answers_by_wording.refusal_rate)}
        ]) as own
    from answers_by_wording
    inner join samples using (audit_run_id, task_id, sample_id)
    group by
        answers_by_wording.audit_run_id, answers_by_wording.model_id, answers_by_wording.task_id, answers_by_wording.strategy,
        samples.sample_index
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        own.measure as measure,
        sample_index,
        own.figure as figure
    from answers_averaged
    where own.figure is not null
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'micro_f1' as measure,
        sample_index,
        avg(share_right) as figure
    from by_wording
    group by all
    having count(share_right) > 0
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'invalid_rate' as measure,
        sample_index,
        avg(share_invalid) as figure
    from by_wording
    group by all
)

select * from final
