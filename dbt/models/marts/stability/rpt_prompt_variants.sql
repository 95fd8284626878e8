-- One row per run, model, task, strategy and prompt variant: its text, how many of its answers could not be read, over all its
-- asks, and how far its labels differ from those of the other variants. Of a sample: 1 less the chance that the variant and
-- another one give it the same label, N/A among them; variants weigh equally whatever their repetitions.
with answers as (
    select * from {{ ref('int_labels_counted') }}
    where {{ in_this_build() }}
),

samples as (
    select * from {{ ref('int_disagreements') }}
    where {{ in_this_build() }}
),

formats as (
    select * from {{ ref('fct_answer_formats') }}
    where {{ in_this_build() }}
),

variants as (
    select * from {{ ref('dim_prompt_variants') }}
    where {{ in_this_build() }}
),

labels as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        label_index,
        sum(p_variant) as p_summed
    from answers
    group by all
),

compared as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        answers.prompt_variant_id,
        answers.sample_index,
        1 - sum(answers.p_variant * (labels.p_summed - answers.p_variant)) / (any_value(samples.n_variants) - 1)
            as disagreement
    from answers
    inner join labels using (audit_run_id, model_id, task_id, strategy, sample_index, label_index)
    inner join samples using (audit_run_id, model_id, task_id, strategy, sample_index)
    where samples.n_variants > 1
    group by all
),

differing as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        count(*) as n_samples,
        avg(disagreement) as disagreement
    from compared
    group by all
),

counted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        sum(n_landed - n_error)::bigint as n_answers,
        sum(n_landed - n_error - n_valid)::bigint as n_invalid
    from formats
    group by all
),

final as (
    select
        counted.audit_run_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        counted.prompt_variant_id,
        variants.paraphrase_temperature,
        variants.variant_index,
        variants.is_original,
        variants.instruction,
        variants.output_format,
        variants.prompt,
        counted.n_answers,
        counted.n_invalid,
        counted.n_invalid / nullif(counted.n_answers, 0) as invalid_rate,
        differing.n_samples as n_samples_compared,
        differing.disagreement,
        variants.variation,
        {{ measure_version() }}
    from counted
    inner join variants using (audit_run_id, prompt_variant_id)
    left join differing using (audit_run_id, model_id, prompt_variant_id)
)

select * from final
