-- One row per prediction and rule that looks at its text or at log-likelihoods: token_f1, math_equal, math_boxed, exact,
-- contains, regex, number, option_loglikelihood, and of extraction each field and all of them.
with tasks as {{ of_this_build('stg_tasks', where='list_has_any(scoring_methods, ' ~ text_rules() ~ ')') }},

labelled as {{ of_this_build('int_predictions_labelled') }},

landed as {{ of_this_build('stg_predictions') }},

variants as {{ of_this_build('stg_prompt_variants') }},

samples as {{ of_this_build('stg_samples') }},

labels as {{ of_this_build('stg_task_labels') }},

field_values as {{ of_this_build('fct_field_values') }},

predictions as (
    select
        labelled.audit_run_id,
        labelled.prediction_id,
        labelled.task_id,
        labelled.sample_id,
        labelled.answer_status,
        labelled.gold_label,
        labelled.completion_md5,
        labelled.option_order,
        landed.completion,
        landed.option_loglikelihoods,
        landed.token_logprobs,
        variants.reader,
        tasks.token_f1_threshold,
        unnest(tasks.scoring_methods) as scoring_method
    from labelled
    inner join tasks using (audit_run_id, task_id)
    inner join landed using (audit_run_id, prediction_id)
    inner join variants
        on labelled.audit_run_id = variants.audit_run_id and labelled.prompt_variant_id = variants.prompt_variant_id
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
    inner join samples using (audit_run_id, task_id, sample_id)
    where predictions.answer_status = 'valid' and samples.reference_answers is not null
),

by_words as (
    select
        * exclude (completion, reference_answers),
        try_token_f1({{ group_keys(keys=['audit_run_id', 'task_id'], is_row=true) }}, completion, reference_answers) as score,
        if(score is null, 'not derived', null) as reason
    from answers
    where scoring_method = 'token_f1'
),

formulas as (
    select
        *,
        if(
            scoring_method = 'math_boxed',
            try_math_boxed({{ group_keys(keys=['audit_run_id', 'task_id'], is_row=true) }}, completion, reference_answers),
            try_math_equal({{ group_keys(keys=['audit_run_id', 'task_id'], is_row=true) }}, completion, reference_answers)
        ) as reading
    from answers
    where scoring_method in ('math_equal', 'math_boxed')
),

by_mathematics as (
    select
        * exclude (completion, reference_answers, reading),
        reading.is_equal::integer::double as score,
        if(reading is null, 'not derived', reading.reason) as reason
    from formulas
),

ruled as (
    select
        *,
        try_plain_rule(
            {{ group_keys(keys=['audit_run_id', 'task_id'], is_row=true) }}, scoring_method, completion, reference_answers
        ) as reading
    from answers
    where list_contains({{ plain_rules() }}, scoring_method)
),

by_rule as (
    select
        * exclude (completion, reference_answers, reading),
        reading.is_right::integer::double as score,
        if(reading is null, 'not derived', reading.reason) as reason
    from ruled
),

texts as (
    select * from by_words
    union all by name
    select * from by_rule
    union all by name
    select * from by_mathematics
),

by_text as (
    select
        predictions.audit_run_id,
        predictions.prediction_id,
        predictions.scoring_method,
        texts.score,
        case
            when predictions.scoring_method = 'token_f1' then texts.score >= predictions.token_f1_threshold
            else texts.score = 1
        end as is_correct,
        case
            when predictions.answer_status != 'valid' then predictions.answer_status
            when texts.audit_run_id is null then 'no reference'
            else texts.reason
        end as reason
    from predictions
    left join texts using (audit_run_id, task_id, sample_id, completion_md5, scoring_method)
    where not starts_with(predictions.scoring_method, 'option_')
),

weighed as (
    select
        *,
        try_likeliest_option(
            {{ group_keys(keys=['audit_run_id', 'task_id'], is_row=true) }},
            scoring_method, option_loglikelihoods, token_logprobs, reader
        ) as likeliest
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
            when weighed.likeliest is null then 'not derived'
            else weighed.likeliest.reason
        end as reason
    from weighed
    left join labels
        on
            weighed.audit_run_id = labels.audit_run_id
            and weighed.task_id = labels.task_id
            -- options are weighed in the data's order, first tokens name a place among the options as shown
            and if(
                weighed.option_loglikelihoods is null,
                coalesce(weighed.option_order[weighed.likeliest.option_index + 1], weighed.likeliest.option_index),
                weighed.likeliest.option_index
            )
            = labels.label_index
),

by_field as (
    select
        audit_run_id,
        prediction_id,
        'field:' || field as scoring_method,
        score,
        is_correct,
        case
            when gold_value is null then 'no reference'
            when answer_status != 'valid' then answer_status
            when value is null then 'unread value'
        end as reason
    from field_values
),

by_all_fields as (
    select
        audit_run_id,
        prediction_id,
        'all_fields' as scoring_method,
        bool_and(is_correct)::integer::double as score,
        bool_and(is_correct) as is_correct,
        case
            when bool_or(gold_value is null) then 'no reference'
            when any_value(answer_status) != 'valid' then any_value(answer_status)
        end as reason
    from field_values
    group by audit_run_id, prediction_id
),

final as (
    select * from by_text
    union all by name
    select * from by_field
    union all by name
    select * from by_all_fields
    union all by name
    select * from by_likelihood
)

select * from final
