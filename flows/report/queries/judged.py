"""What the report asks of the marts of scoring and judging: each but the first is about one run (`$run`)."""

from __future__ import annotations

# texts are fetched with one character more than is shown, so that a cut is seen
MOST_DISAGREEMENTS = 12  # a task
MOST_REFERENCES = 5

SPREADS = """
select * from marts.fct_scoring_sensitivity where audit_run_id = $run
order by task_id, model_id, starts_with(scoring_method, 'judge:'), scoring_method
"""

COMPARISONS = """
select compared.*, by_rule.accuracy_std_sample as accuracy_std_rule, by_judge.accuracy_std_sample as accuracy_std_judge
from marts.rpt_rule_against_judge as compared
left join marts.fct_scoring_sensitivity as by_rule
    on by_rule.audit_run_id = $run and by_rule.task_id = compared.task_id and by_rule.model_id = compared.model_id
    and by_rule.scoring_method = compared.rule
left join marts.fct_scoring_sensitivity as by_judge
    on by_judge.audit_run_id = $run and by_judge.task_id = compared.task_id and by_judge.model_id = compared.model_id
    and by_judge.scoring_method = compared.judge
where compared.audit_run_id = $run
order by compared.task_id, compared.model_id, compared.rule, compared.judge
"""

RANKINGS = """
select * from marts.fct_ranking_consistency where audit_run_id = $run
order by task_id, starts_with(scoring_method, 'judge:'), scoring_method, model_set != 'all', model_set
"""

AGREEMENTS = """
select * from marts.fct_judge_agreement where audit_run_id = $run order by task_id, kind, raters
"""

CONTROLS = """
select task_id, scoring_method, kind, n_controls, n_scored, n_wrong, error_rate
from marts.fct_judge_controls where audit_run_id = $run
order by task_id, scoring_method, list_position(['right', 'wrong', 'blank', 'injected'], kind)
"""

# a panel has a card and no replies of its own
JUDGES = """
with replies as (
    select
        rater,
        count(*) as n_replies,
        count(*) filter (is_settled and is_current) as n_rulings,
        count(*) filter (is_settled and is_current and is_match is null) as n_unreadable,
        sum(cost_usd) as cost_usd
    from marts.fct_verdicts where audit_run_id = $run and starts_with(rater, 'judge:')
    group by all
)

select
    judges.judge_id, judges.model_id, judges.judge_key, judges.repetitions, judges.max_asks,
    from_json(judges.panel, '["VARCHAR"]') as panel, replies.* exclude (rater)
from raw.judges as judges
left join replies on replies.rater = 'judge:' || judges.judge_id
where judges.audit_run_id = $run
qualify judges.recorded_at = max(judges.recorded_at) over (partition by judges.judge_id)
order by judges.judge_id
"""

# what each scoring method makes of a prediction: as in accuracy, an unscored answer is worth 0 and an error nothing
_RULED = """
with ruled as (
    select
        said.prediction_id,
        said.task_id,
        said.sample_id,
        said.model_id,
        said.prompt_variant_id,
        said.completion,
        said.label,
        scores.scoring_method,
        starts_with(scores.scoring_method, 'judge:') as is_judge,
        scores.score,
        scores.reason,
        coalesce(scores.is_correct::integer::double, scores.score, 0) as worth,
        case
            when scores.score_state = 'unscored' then 'unscored'
            when coalesce(scores.is_correct::integer::double, scores.score) = 1 then 'right'
            when coalesce(scores.is_correct::integer::double, scores.score) = 0 then 'wrong'
            else 'partly right'
        end as ruling
    from marts.fct_predictions as said
    inner join marts.fct_scores as scores using (audit_run_id, prediction_id)
    where audit_run_id = $run and not said.is_quarantined
        and (scores.reason is null or scores.reason not in ('error', 'no gold label', 'no reference'))
)
"""

RULINGS = f"""{_RULED}
select rules.task_id, rules.scoring_method as rule, judges.scoring_method as judge, rules.ruling as rule_ruling,
    judges.ruling as judge_ruling, count(*) as n_predictions
from ruled as rules
inner join ruled as judges on rules.prediction_id = judges.prediction_id and judges.is_judge
where not rules.is_judge
group by all order by all
"""  # noqa: S608 - our own text

# One row per answer and scoring method. Answers that part rules and judges most come first, by how much they move the one
# accuracy away from the other; but every way to differ shows its first answer before any shows a second. A rule that weighs
# more than the text may rule otherwise on the same words: its ruling varies.
DISAGREEMENTS = f"""{_RULED},
answers as (
    select ruled.*, md5(concat_ws(chr(0), ruled.task_id, ruled.sample_id, variants.reader, ruled.completion)) as answer
    from ruled
    inner join marts.dim_prompt_variants as variants
        on variants.audit_run_id = $run and variants.prompt_variant_id = ruled.prompt_variant_id
),

rulings as (
    select task_id, sample_id, answer, scoring_method, is_judge, if(min(ruling) = max(ruling), min(ruling), 'varies') as ruling,
        avg(worth) as worth, avg(score) as score, min(reason) as reason, count(*) as n_predictions
    from answers group by all
),

apart as (
    select rules.task_id, rules.sample_id, rules.answer,
        avg(abs(rules.worth - judges.worth)) * max(rules.n_predictions) as n_apart,
        string_agg(distinct rules.ruling, ' ' order by rules.ruling) || '/'
            || string_agg(distinct judges.ruling, ' ' order by judges.ruling) as way
    from rulings as rules
    inner join rulings as judges on rules.answer = judges.answer and judges.is_judge
    where not rules.is_judge and judges.reason is distinct from 'not judged'
    group by all
    having max(abs(rules.worth - judges.worth)) > 0
),

ranked as (
    select *, row_number() over (partition by task_id, way order by n_apart desc, sample_id, answer) as place
    from apart
),

chosen as (
    select *,
        count(*) over (partition by task_id) as n_answers,
        row_number() over (partition by task_id order by place, n_apart desc, sample_id, answer) as rank
    from ranked
    qualify rank <= {MOST_DISAGREEMENTS}
),

said as (
    select answer,
        any_value(left(completion, $long)) as completion,
        any_value(left(label, 121)) as label,
        count(distinct prediction_id) as n_predictions,
        count(distinct model_id) as n_models,
        min(model_id) as model_id,
        count(distinct prompt_variant_id) as n_variants
    from answers semi join chosen using (answer)
    group by all
),

votes as (
    select 'judge:' || judge_id as rater, 'judge:' || unnest(from_json(panel, '["VARCHAR"]')) as member
    from raw.judges where audit_run_id = $run and panel is not null
),

verdicts as (
    select prediction_id, rater, is_match, reason, repetition from marts.fct_verdicts
    where audit_run_id = $run and is_settled and is_current
),

-- a verdict stands at one of the predictions that say the same, a panel's with its members
reasons as (
    select answers.answer, given.rater, given.is_match, min_by(left(given.reason, $long), given.repetition) as reason
    from (
        select * from verdicts
        union all by name
        select verdicts.* replace (votes.rater as rater) from verdicts inner join votes on verdicts.rater = votes.member
    ) as given
    inner join (select distinct answer, prediction_id from answers semi join chosen using (answer)) as answers
        using (prediction_id)
    group by all
)

select
    chosen.task_id, chosen.rank, chosen.n_answers, chosen.sample_id, said.* exclude (answer),
    rulings.scoring_method, rulings.is_judge, rulings.ruling, rulings.score,
    coalesce(reasons.reason, left(rulings.reason, $long)) as reason,
    left(samples.input, $long) as input,
    samples.gold_label,
    left(samples.options[list_position(tasks.labels, samples.gold_label)], $long) as gold_option,
    [left(reference, 101) for reference in samples.reference_answers[:{MOST_REFERENCES}]] as reference_answers,
    len(samples.reference_answers) as n_references
from chosen
inner join said using (answer)
inner join rulings using (answer)
left join reasons
    on reasons.answer = chosen.answer and reasons.rater = rulings.scoring_method
    and rulings.ruling in ('right', 'wrong') and reasons.is_match = (rulings.ruling = 'right')
left join marts.dim_samples as samples
    on samples.audit_run_id = $run and samples.task_id = chosen.task_id and samples.sample_id = chosen.sample_id
left join marts.dim_tasks as tasks on tasks.audit_run_id = $run and tasks.task_id = chosen.task_id
order by chosen.task_id, chosen.rank, rulings.is_judge, rulings.scoring_method
"""  # noqa: S608 - our own text
