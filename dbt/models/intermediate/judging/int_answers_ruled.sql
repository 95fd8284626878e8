-- One row per run, task and answer that people ruled on: what they said, and how many answers it stands for.
-- Sheets are drawn evenly within the groups of answers that verdict_group makes in and out of format, and some groups are drawn
-- more than others: a ruling stands for as many answers as its group has to each ruling in it. Rulings that no sheet asked for
-- are taken as drawn so. Answers to a sample without a key count where a judge rules on them without one.
with rated as {{ of_this_build('int_answers_rated', where="kind = 'people' and is_match is not null") }},

labelled as {{ of_this_build('int_predictions_labelled') }},

variants as {{ of_this_build('stg_prompt_variants') }},

samples as {{ of_this_build('stg_samples') }},

keyless as {{ of_this_build('stg_judges', where='not needs_key') }},

rulable as (
    select
        audit_run_id,
        task_id,
        sample_id
    from samples
    where
        has_key
        or exists (
            select 1 from keyless
            where
                samples.audit_run_id = keyless.audit_run_id
                and (keyless.task_ids is null or list_contains(keyless.task_ids, samples.task_id))
        )
),

scores as (
    select
        *,
        {{ kind_of_rater('scoring_method') }} as kind
    from {{ ref('fct_scores') }}
    where {{ in_this_build() }}
),

answers as (
    select
        labelled.audit_run_id,
        labelled.task_id,
        {{ answer_key(
            'labelled.sample_id', options_as_shown('variants.reader', 'labelled.option_order'), 'labelled.completion_md5'
        ) }} as answer,
        min(labelled.prediction_id) as prediction_id,
        bool_or(labelled.answer_status = 'valid') as is_in_format
    from labelled
    semi join rulable using (audit_run_id, task_id, sample_id)
    semi join rated using (audit_run_id, task_id)
    inner join variants
        on
            labelled.audit_run_id = variants.audit_run_id
            and labelled.prompt_variant_id = variants.prompt_variant_id
    where labelled.answer_status not in ('error', 'empty')
    group by all
),

grouped as (
    select
        answers.audit_run_id,
        answers.task_id,
        answers.answer,
        answers.is_in_format,
        verdict_group(
            bool_or(scores.kind = 'rule' and scores.is_correct),
            bool_or(scores.kind = 'rule' and not scores.is_correct),
            bool_or(scores.kind = 'judge' and scores.is_correct),
            bool_or(scores.kind = 'judge' and not scores.is_correct),
            coalesce(bool_or(scores.score_state = 'unscored') filter (scores.kind = 'rule'), true)
        ) as verdict_group
    from answers
    left join scores
        on answers.audit_run_id = scores.audit_run_id and answers.prediction_id = scores.prediction_id
    group by answers.audit_run_id, answers.task_id, answers.answer, answers.is_in_format
),

counted as (
    select
        grouped.audit_run_id,
        grouped.task_id,
        grouped.answer,
        grouped.is_in_format,
        grouped.verdict_group,
        rated.is_match as is_right,
        count(*) over in_group as n_answers,
        count(rated.is_match) over in_group as n_ruled
    from grouped
    left join rated using (audit_run_id, task_id, answer)
    window
        in_group as (
            partition by grouped.audit_run_id, grouped.task_id, grouped.is_in_format, grouped.verdict_group
        )
),

-- for a group without a ruling stand the others of its format
weighed as (
    select
        audit_run_id,
        task_id,
        answer,
        is_in_format,
        verdict_group,
        is_right,
        (
            n_answers / n_ruled
            * count(*) over in_format / count(*) filter (n_ruled > 0) over in_format
        )::double as weight
    from counted
    window in_format as (partition by audit_run_id, task_id, is_in_format)
),

final as (
    select * from weighed
    where is_right is not null
)

select * from final
