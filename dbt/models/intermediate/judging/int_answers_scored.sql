-- One row per prediction and rule that looks at its text or at log-likelihoods: token_f1, math_equal, option_loglikelihood.
with predictions as (
    select
        labelled.audit_run_id,
        labelled.prediction_id,
        labelled.task_id,
        labelled.sample_id,
        labelled.answer_status,
        labelled.gold_label,
        labelled.completion_md5,
        raw.completion,
        raw.option_loglikelihoods,
        raw.token_logprobs,
        variants.reader,
        tasks.token_f1_threshold,
        unnest(tasks.scoring_methods) as scoring_method
    from {{ ref('int_predictions_labelled') }} as labelled
    inner join {{ ref('stg_tasks') }} as tasks using (audit_run_id, task_id)
    inner join {{ ref('stg_predictions') }} as raw using (audit_run_id, prediction_id)
    inner join {{ ref('stg_prompt_variants') }} as variants
        on labelled.audit_run_id = variants.audit_run_id and labelled.prompt_variant_id = variants.prompt_variant_id
    where
        list_has_any(tasks.scoring_methods, {{ text_rules() }})
        and {{ in_this_build('labelled.audit_run_id') }}
        and {{ in_this_build('raw.audit_run_id') }}
),

-- models repeat themselves: each distinct answer to a question is scored once
answers as (
    select distinct
        predictions.audit_run_id,
        predictions.task_id,
        predictions.sample_id,
        predictions.completion_md5,
        predictions.completion,
        predictions.scoring_method,
        samples.reference_answers
    from predictions
    inner join {{ ref('stg_samples') }} as samples using (audit_run_id, task_id, sample_id)
    where predictions.answer_status = 'valid' and samples.reference_answers is not null
),

by_words as (
    select
        * exclude (completion, reference_answers),
        token_f1(completion, reference_answers) as score,
        null::varchar as reason
    from answers
    where scoring_method = 'token_f1'
),

by_mathematics as (
    select
        * exclude (completion, reference_answers, reading),
        reading.is_equal::integer::double as score,
        reading.reason as reason
    from (
        select
            *,
            math_equal(completion, reference_answers) as reading
        from answers
        where scoring_method = 'math_equal'
    ) as read
),

by_text as (
    select
        predictions.audit_run_id,
        predictions.prediction_id,
        predictions.scoring_method,
        read.score,
        case
            when predictions.scoring_method = 'math_equal' then read.score = 1
            else read.score >= predictions.token_f1_threshold
        end as is_correct,
        case
            when predictions.answer_status != 'valid' then predictions.answer_status
            when read.audit_run_id is null then 'no reference'
            else read.reason
        end as reason
    from predictions
    left join (
        select * from by_words
        union all by name
        select * from by_mathematics
    ) as read using (audit_run_id, task_id, sample_id, completion_md5, scoring_method)
    where predictions.scoring_method in ('token_f1', 'math_equal')
),

weighed as (
    select
        *,
        likeliest_option(scoring_method, option_loglikelihoods, token_logprobs, reader) as likeliest
    from predictions
    where starts_with(scoring_method, 'option_loglikelihood')
),

by_likelihood as (
    select
        weighed.audit_run_id,
        weighed.prediction_id,
        weighed.scoring_method,
        (labels.label = weighed.gold_label)::integer::double as score,
        labels.label = weighed.gold_label as is_correct,
        case
            when weighed.answer_status = 'error' then 'error'
            when weighed.gold_label is null then 'no gold label'
            else weighed.likeliest.reason
        end as reason
    from weighed
    left join {{ ref('stg_task_labels') }} as labels
        on
            weighed.audit_run_id = labels.audit_run_id
            and weighed.task_id = labels.task_id
            and weighed.likeliest.option_index = labels.label_index
),

final as (
    select * from by_text
    union all by name
    select * from by_likelihood
)

select * from final
