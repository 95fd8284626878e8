with answers as (
    select
        ruled.*,
        -- the same letter means another option where options were shown in another order
        md5(concat_ws(chr(0), ruled.task_id, ruled.sample_id, variants.reader, ruled.completion, ruled.label)) as answer
    from ruled
    inner join marts.dim_prompt_variants as variants
        on variants.audit_run_id = $run and ruled.prompt_variant_id = variants.prompt_variant_id
),

rulings as (
    select
        task_id,
        sample_id,
        answer,
        scoring_method,
        is_judge,
        if(min(ruling) = max(ruling), min(ruling), 'varies') as ruling,
        avg(worth) as worth,
        avg(score) as score,
        min(reason) as reason,
        min(unscored_kind) as unscored_kind,
        count(*) as n_predictions
    from answers
    group by all
),

apart as (
    select
        rules.task_id,
        rules.sample_id,
        rules.answer,
        avg(abs(rules.worth - judges.worth)) * max(rules.n_predictions) as n_apart,
        string_agg(distinct rules.ruling, ' ' order by rules.ruling) || '/'
        || string_agg(distinct judges.ruling, ' ' order by judges.ruling) as way
    from rulings as rules
    inner join rulings as judges on rules.answer = judges.answer and judges.is_judge
    where not rules.is_judge and judges.unscored_kind is distinct from 'not_judged'
    group by all
    having max(abs(rules.worth - judges.worth)) > 0
),

ranked as (
    select
        *,
        row_number() over (partition by task_id, way order by n_apart desc, sample_id asc, answer asc) as place
    from apart
),

chosen as (
    select
        *,
        count(*) over (partition by task_id) as n_answers,
        row_number() over (partition by task_id order by place asc, n_apart desc, sample_id asc, answer asc) as rank
    from ranked
    qualify rank <= $most_disagreements
),

said as (
    select
        answer,
        any_value(left(completion, $long)) as completion,
        any_value(left(label, 121)) as label,
        count(distinct prediction_id) as n_predictions,
        count(distinct model_id) as n_models,
        min(model_id) as model_id,
        count(distinct prompt_variant_id) as n_variants
    from answers
    semi join chosen using (answer)
    group by all
),

votes as (
    select
        'judge:' || judge_id as rater,
        'judge:' || unnest(from_json(panel, '["VARCHAR"]')) as member
    from raw.judges
    where audit_run_id = $run and panel is not null
),

verdicts as (
    select
        prediction_id,
        rater,
        is_match,
        reason,
        repetition
    from marts.fct_verdicts
    where audit_run_id = $run and is_settled and is_current and other_prediction_id is null
),

-- a verdict stands at one of the predictions that say the same, a panel's with its members
reasons as (
    select
        answers.answer,
        given.rater,
        given.is_match,
        min_by(left(given.reason, $long), given.repetition) as reason
    from (
        select * from verdicts
        union all by name
        select verdicts.* replace (votes.rater as rater)
        from verdicts
        inner join votes on verdicts.rater = votes.member
        union all by name
        select * replace ('people' as rater)
        from verdicts
        where starts_with(rater, 'person:')
    ) as given
    inner join (
        select distinct
            answer,
            prediction_id
        from answers
        semi join chosen using (answer)
    ) as answers using (prediction_id)
    group by all
)

-- One row per answer and scoring method. Answers that part rules and judges most come first, by how much they move the one
-- accuracy away from the other; but every way to differ shows its first answer before any shows a second. A rule that weighs
-- more than the text may rule otherwise on the same words: its ruling varies.
select
    chosen.task_id,
    chosen.rank,
    chosen.n_answers,
    chosen.sample_id,
    said.* exclude (answer),
    rulings.scoring_method,
    rulings.is_judge,
    rulings.ruling,
    rulings.score,
    coalesce(reasons.reason, left(rulings.reason, $long)) as reason,
    left(samples.input, $long) as input,
    samples.gold_label,
    left(samples.options[list_position(tasks.labels, samples.gold_label)], $long) as gold_option,
    [left(reference, 101) for reference in list_slice(samples.reference_answers, 1, $most_references)] as reference_answers,
    len(samples.reference_answers) as n_references
from chosen
inner join said using (answer)
inner join rulings using (answer)
left join reasons
    on
        chosen.answer = reasons.answer and rulings.scoring_method = reasons.rater
        and rulings.ruling in ('right', 'wrong') and reasons.is_match = (rulings.ruling = 'right')
left join marts.dim_samples as samples
    on samples.audit_run_id = $run and chosen.task_id = samples.task_id and chosen.sample_id = samples.sample_id
left join marts.dim_tasks as tasks on tasks.audit_run_id = $run and chosen.task_id = tasks.task_id
order by chosen.task_id, chosen.rank, rulings.is_judge, rulings.scoring_method
