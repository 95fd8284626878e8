-- One row per run, model, task, rule and judge: the spread of accuracy over templates under each, and what the judge removes.
-- A judge that errs removes spread of itself: where people ruled enough, its Youden index takes that back (rectified).
{% set least_ruled = 10 %} {#- answers that people hold to be right, and wrong, before a judge counts as verified #}
with cells as (
    select
        *,
        starts_with(scoring_method, 'judge:') as is_judge,
        dense_rank() over (partition by audit_run_id, task_id order by prompt_variant_id) as variant
    from {{ ref('int_scores_averaged') }}
    where {{ in_this_build() }}
),

people as (
    select
        audit_run_id,
        task_id,
        answer,
        count(*) filter (is_match) > count(*) filter (not is_match) as is_right
    from {{ ref('int_answers_rated') }}
    where kind = 'person' and {{ in_this_build() }}
    group by all
    having count(*) filter (is_match) != count(*) filter (not is_match)
),

-- sheets take disagreements more often than others: people's rulings weigh as many predictions as answers of their kind,
-- ruled and scored alike, have in all
answers as (
    select
        rated.audit_run_id,
        rated.task_id,
        rated.answer,
        any_value(said.n_predictions) as n_predictions,
        string_agg(rated.rater || rated.is_match || rated.is_scored, ' ' order by rated.rater) as pattern
    from {{ ref('int_answers_rated') }} as rated
    inner join {{ ref('int_answers_counted') }} as said using (audit_run_id, task_id, answer)
    where rated.kind != 'person' and {{ in_this_build('rated.audit_run_id') }}
    group by all
),

weighted as (
    select
        answers.audit_run_id,
        answers.task_id,
        answers.answer,
        people.is_right,
        answers.n_predictions
        * sum(answers.n_predictions) over kind_of_answer
        / sum(if(people.answer is null, null, answers.n_predictions)) over kind_of_answer as weight
    from answers
    left join people using (audit_run_id, task_id, answer)
    window kind_of_answer as (partition by answers.audit_run_id, answers.task_id, answers.pattern)
),

ruled as (
    select
        rated.audit_run_id,
        rated.task_id,
        rated.rater as judge,
        youden_index(list(rated.is_match), list(weighted.is_right), list(weighted.weight)) as youden_index,
        count(*) filter (weighted.is_right)::integer as n_ruled_right,
        count(*) filter (not weighted.is_right)::integer as n_ruled_wrong
    from {{ ref('int_answers_rated') }} as rated
    inner join weighted using (audit_run_id, task_id, answer)
    where rated.kind = 'judge' and weighted.is_right is not null and {{ in_this_build('rated.audit_run_id') }}
    group by all
),

verified as (
    select
        *,
        youden_index > 0 and least(n_ruled_right, n_ruled_wrong) >= {{ least_ruled }} as is_verified
    from ruled
),

controls as (
    pivot (
        select
            audit_run_id,
            task_id,
            scoring_method as judge,
            kind,
            error_rate
        from {{ ref('fct_judge_controls') }}
        where {{ in_this_build() }}
    )
    on kind in ('right', 'wrong', 'blank', 'injected')
    using any_value(error_rate)
    group by audit_run_id, task_id, judge
),

measured as (
    select
        rules.audit_run_id,
        rules.model_id,
        rules.task_id,
        rules.scoring_method as rule,
        judges.scoring_method as judge,
        any_value(verified.youden_index) as youden_index,
        any_value(verified.n_ruled_right) as n_ruled_right,
        any_value(verified.n_ruled_wrong) as n_ruled_wrong,
        coalesce(any_value(verified.is_verified), false) as is_verified,
        bool_or(rules.is_graded) as is_rule_graded,
        sum(judges.n_missing)::bigint as n_missing,
        {%- for accuracy in ['accuracy', 'accuracy_scored'] %}
        rule_against_judge(
            list(rules.sample_index),
            list(rules.variant),
            list(rules.{{ accuracy }}),
            list(judges.{{ accuracy }}),
            any_value(if(verified.is_verified, verified.youden_index, null)),
            any_value(runs.seed),
            any_value(runs.n_resamples)
        ) as by_{{ accuracy }}{{ ',' if not loop.last }}
        {%- endfor %}
    from cells as rules
    inner join cells as judges
        on
            rules.audit_run_id = judges.audit_run_id
            and rules.model_id = judges.model_id
            and rules.prompt_variant_id = judges.prompt_variant_id
            and rules.sample_index = judges.sample_index
            and judges.is_judge
    inner join {{ ref('stg_audit_runs') }} as runs
        on rules.audit_run_id = runs.audit_run_id
    left join verified
        on
            rules.audit_run_id = verified.audit_run_id
            and rules.task_id = verified.task_id
            and judges.scoring_method = verified.judge
    where not rules.is_judge
    group by rules.audit_run_id, rules.model_id, rules.task_id, rules.scoring_method, judges.scoring_method
)

select
    measured.audit_run_id,
    measured.model_id,
    measured.task_id,
    measured.rule,
    measured.judge,
    by_rule.accuracy_mean as accuracy_rule,
    by_judge.accuracy_mean as accuracy_judge,
    measured.by_accuracy.std_rule,
    measured.by_accuracy.std_judge,
    measured.by_accuracy.spread_rule,
    by_rule.accuracy_std_corrected_low as spread_rule_low,
    by_rule.accuracy_std_corrected_high as spread_rule_high,
    measured.by_accuracy.spread_judge,
    by_judge.accuracy_std_corrected_low as spread_judge_low,
    by_judge.accuracy_std_corrected_high as spread_judge_high,
    -- a share of words and a verdict are not on one scale
    {%- for figure in ['difference', 'share_removed'] %}
    {%- for ending in ['', '_low', '_high'] %}
    if(measured.is_rule_graded, null, measured.by_accuracy.{{ figure }}{{ ending }}) as {{ figure }}{{ ending }},
    {%- endfor %}
    {%- endfor %}
    measured.by_accuracy.spread_judge_rectified,
    {%- for figure in ['difference_rectified', 'share_removed_rectified'] %}
    {%- for ending in ['', '_low', '_high'] %}
    if(measured.is_rule_graded, null, measured.by_accuracy.{{ figure }}{{ ending }}) as {{ figure }}{{ ending }},
    {%- endfor %}
    {%- endfor %}
    measured.by_accuracy_scored.spread_rule as spread_rule_scored,
    measured.by_accuracy_scored.spread_judge as spread_judge_scored,
    {%- for figure in ['difference', 'share_removed'] %}
    {%- for ending in ['', '_low', '_high'] %}
    if(measured.is_rule_graded, null, measured.by_accuracy_scored.{{ figure }}{{ ending }})
        as {{ figure }}_scored{{ ending }},
    {%- endfor %}
    {%- endfor %}
    measured.youden_index,
    coalesce(measured.n_ruled_right, 0)::integer as n_ruled_right,
    coalesce(measured.n_ruled_wrong, 0)::integer as n_ruled_wrong,
    coalesce(measured.n_ruled_right + measured.n_ruled_wrong, 0)::integer as n_ruled_by_people,
    if(measured.is_verified, 'verified', 'judge_unverified') as judge_state,
    controls.right as error_rate_right,
    controls.wrong as error_rate_wrong,
    controls.blank as error_rate_blank,
    controls.injected as error_rate_injected,
    measured.is_rule_graded,
    measured.by_accuracy.n_variants::integer as n_variants,
    measured.by_accuracy.n_samples::integer as n_samples,
    measured.n_missing,
    {{ measure_version() }}
from measured
left join {{ ref('fct_scoring_sensitivity') }} as by_rule
    on
        measured.audit_run_id = by_rule.audit_run_id
        and measured.model_id = by_rule.model_id
        and measured.task_id = by_rule.task_id
        and measured.rule = by_rule.scoring_method
left join {{ ref('fct_scoring_sensitivity') }} as by_judge
    on
        measured.audit_run_id = by_judge.audit_run_id
        and measured.model_id = by_judge.model_id
        and measured.task_id = by_judge.task_id
        and measured.judge = by_judge.scoring_method
left join controls
    on
        measured.audit_run_id = controls.audit_run_id
        and measured.task_id = controls.task_id
        and measured.judge = controls.judge
