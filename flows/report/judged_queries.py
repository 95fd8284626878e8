"""What the report asks of the marts of scoring and judging: each but the first is about one run (`$run`)."""

from __future__ import annotations

# texts are fetched with one character more than is shown, so that a cut is seen
MOST_DISAGREEMENTS = 12  # a task
MOST_REFERENCES = 5

TABLES = """
select table_schema || '.' || table_name as name from information_schema.tables where table_schema in ('marts', 'raw')
"""

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

# what each rule and each judge make of a prediction: as in accuracy, an unscored answer is worth 0 and an error nothing
_PAIRED = """
with scored as (
    select
        prediction_id,
        scoring_method,
        reason,
        coalesce(is_correct::integer::double, score, 0) as worth,
        case
            when score_state = 'unscored' then 'unscored'
            when coalesce(is_correct::integer::double, score) = 1 then 'right'
            when coalesce(is_correct::integer::double, score) = 0 then 'wrong'
            else 'partly right'
        end as ruling
    from marts.fct_scores
    where audit_run_id = $run and reason is distinct from 'error'
),

paired as (
    select
        said.prediction_id,
        said.task_id,
        said.sample_id,
        said.model_id,
        said.prompt_variant_id,
        said.completion,
        said.label,
        rules.scoring_method as rule,
        rules.ruling as rule_ruling,
        rules.reason as rule_reason,
        rules.worth as rule_worth,
        judges.scoring_method as judge,
        judges.ruling as judge_ruling,
        judges.reason as judge_reason,
        judges.worth as judge_worth
    from marts.fct_predictions as said
    inner join scored as rules on said.prediction_id = rules.prediction_id and not starts_with(rules.scoring_method, 'judge:')
    inner join scored as judges on said.prediction_id = judges.prediction_id and starts_with(judges.scoring_method, 'judge:')
    where said.audit_run_id = $run and not said.is_quarantined
)
"""

RULINGS = f"""{_PAIRED}
select task_id, rule, judge, rule_ruling, judge_ruling, count(*) as n_predictions
from paired group by all order by all
"""  # noqa: S608 - our own text

# those that part rule and judge most first: by how much each moves the one accuracy away from the other
DISAGREEMENTS = f"""{_PAIRED},
votes as (
    select 'judge:' || judge_id as rater, 'judge:' || unnest(from_json(panel, '["VARCHAR"]')) as member
    from raw.judges where audit_run_id = $run and panel is not null
),

reasons as (
    select prediction_id, rater, is_match, arg_min(left(reason, 301), repetition) as reason
    from (
        select prediction_id, rater, is_match, reason, repetition from marts.fct_verdicts
        where audit_run_id = $run and is_settled and is_current and prediction_id is not null
        union all
        select verdicts.prediction_id, votes.rater, verdicts.is_match, verdicts.reason, verdicts.repetition
        from marts.fct_verdicts as verdicts
        inner join votes on verdicts.rater = votes.member
        where verdicts.audit_run_id = $run and verdicts.is_settled and verdicts.is_current
            and verdicts.prediction_id is not null
    ) as given
    group by all
),

answers as (
    select
        paired.task_id,
        paired.sample_id,
        paired.rule,
        paired.judge,
        paired.rule_ruling,
        paired.judge_ruling,
        variants.reader,
        md5(paired.completion) as completion_md5,
        any_value(left(paired.completion, 301)) as completion,
        any_value(left(paired.label, 121)) as label,
        any_value(left(paired.rule_reason, 301)) as rule_reason,
        avg(paired.rule_worth) as rule_worth,
        any_value(coalesce(reasons.reason, left(paired.judge_reason, 301))) as judge_reason,
        count(*) as n_predictions,
        count(distinct paired.model_id) as n_models,
        any_value(paired.model_id order by paired.model_id) as model_id,
        count(distinct paired.prompt_variant_id) as n_variants,
        sum(abs(paired.rule_worth - paired.judge_worth)) as n_apart
    from paired
    inner join marts.dim_prompt_variants as variants
        on variants.audit_run_id = $run and variants.prompt_variant_id = paired.prompt_variant_id
    left join reasons
        on reasons.prediction_id = paired.prediction_id
        and reasons.rater = paired.judge
        and reasons.is_match = (paired.judge_ruling = 'right')
    where paired.rule_worth != paired.judge_worth and paired.judge_reason is distinct from 'not judged'
    group by all
),

-- every way to differ shows its commonest before any shows a second
ranked as (
    select *, row_number() over (
        partition by task_id, rule, judge, rule_ruling, judge_ruling
        order by n_apart desc, sample_id, completion_md5, reader
    ) as place
    from answers
),

chosen as (
    select *, count(*) over (partition by task_id) as n_answers
    from ranked
    qualify row_number() over (
        partition by task_id order by place, n_apart desc, sample_id, completion_md5, reader, rule, judge
    ) <= {MOST_DISAGREEMENTS}
)

select
    chosen.* exclude (completion_md5, reader, place),
    left(samples.input, 301) as input,
    samples.gold_label,
    left(samples.options[list_position(tasks.labels, samples.gold_label)], 301) as gold_option,
    [left(reference, 101) for reference in samples.reference_answers[:{MOST_REFERENCES}]] as reference_answers,
    len(samples.reference_answers) as n_references
from chosen
left join marts.dim_samples as samples
    on samples.audit_run_id = $run and samples.task_id = chosen.task_id and samples.sample_id = chosen.sample_id
left join marts.dim_tasks as tasks on tasks.audit_run_id = $run and tasks.task_id = chosen.task_id
order by chosen.task_id, chosen.place, chosen.n_apart desc, chosen.sample_id, chosen.completion_md5, chosen.reader,
    chosen.rule, chosen.judge
"""  # noqa: S608 - our own text and numbers
