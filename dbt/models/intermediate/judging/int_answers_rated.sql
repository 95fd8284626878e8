-- One row per run, task, answer and rater who ruled on it or scored it: judges, panels, persons, their
-- majority (`people`), and the rules that read what was said beside them.
-- An answer is what was said to a sample under one way of naming its options; `n_answers` predictions say it.
with verdicts as {{ of_this_build('int_verdicts_counted', where='control_id is null') }},

scores as {{ of_this_build('fct_scores') }},

labelled as {{ of_this_build('int_predictions_labelled') }},

variants as {{ of_this_build('stg_prompt_variants') }},

ruled as (
    select
        audit_run_id,
        task_id,
        {{ answer_key('sample_id', 'reader', 'completion_md5') }} as answer,
        rater,
        is_match
    from verdicts
),

-- a rule says the same of equal answers, but what it weighs may differ: the first counts
by_rule as (
    select
        scores.audit_run_id,
        scores.task_id,
        {{ answer_key(
            'scores.sample_id', options_as_shown('variants.reader', 'labelled.option_order'), 'labelled.completion_md5'
        ) }} as answer,
        scores.scoring_method as rater,
        -- what a rule cannot read it does not count as right
        coalesce(arg_min(scores.is_correct, scores.prediction_id), false) as is_match
    from scores
    inner join labelled using (audit_run_id, prediction_id)
    inner join variants
        on scores.audit_run_id = variants.audit_run_id and scores.prompt_variant_id = variants.prompt_variant_id
    where
        {{ kind_of_rater('scores.scoring_method') }} = 'rule'
        -- how a model weighs the options is nothing that it said
        and not starts_with(scores.scoring_method, 'option_loglikelihood')
        -- and a field is a part of it alone
        and not starts_with(scores.scoring_method, 'field:')
        and (scores.is_correct is not null or scores.score_state = 'unscored')
        and (scores.unscored_kind is null or scores.unscored_kind not in ('no_answer', 'no_key', 'not_weighed'))
        and exists (
            select 1 from ruled
            where ruled.audit_run_id = scores.audit_run_id and ruled.task_id = scores.task_id
        )
    group by all
),

said as (
    select
        labelled.audit_run_id,
        labelled.task_id,
        {{ answer_key(
            'labelled.sample_id', options_as_shown('variants.reader', 'labelled.option_order'), 'labelled.completion_md5'
        ) }} as answer,
        count(*)::integer as n_answers
    from labelled
    semi join ruled using (audit_run_id, task_id)
    inner join variants
        on labelled.audit_run_id = variants.audit_run_id and labelled.prompt_variant_id = variants.prompt_variant_id
    group by all
),

rated as (
    select * from ruled
    union all by name
    select by_rule.* from by_rule
    semi join ruled using (audit_run_id, task_id, answer)
),

final as (
    select
        rated.*,
        said.n_answers,
        {{ kind_of_rater('rated.rater') }} as kind
    from rated
    inner join said using (audit_run_id, task_id, answer)
)

select * from final
