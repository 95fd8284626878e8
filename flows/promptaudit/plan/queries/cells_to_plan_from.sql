-- each cell of a run that takes part in a measure: the mean and variance of its asks; wordings are prompt variants here
-- an unscored answer is not right; what is missing, or has no key, counts nowhere
with scores as (
    select scores.*
    from marts.fct_scores as scores
    inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
    where
        scores.audit_run_id = $run
        and samples.has_key
        and scores.scoring_method != 'people'
        and coalesce(
            scores.unscored_kind not in ('no_answer', 'no_key', 'not_judged', 'not_weighed', 'judge_failed', 'not_derived'), true
        )
),

asks as (
    select
        'micro_f1' as measure,
        model_id,
        task_id,
        strategy,
        null::varchar as scoring_method,
        prompt_variant_id,
        sample_id,
        is_correct::integer::double as worth
    from answers_to_plan_from
    where is_correct is not null and kind not in ('open_ended', 'extraction')
    union all
    select
        'invalid_rate' as measure,
        model_id,
        task_id,
        strategy,
        null as scoring_method,
        prompt_variant_id,
        sample_id,
        (answer_status != 'valid')::integer::double as worth
    from answers_to_plan_from
    where kind not in ('open_ended', 'extraction')
    union all
    select
        'accuracy' as measure,
        answers_to_plan_from.model_id,
        answers_to_plan_from.task_id,
        answers_to_plan_from.strategy,
        scores.scoring_method,
        answers_to_plan_from.prompt_variant_id,
        answers_to_plan_from.sample_id,
        coalesce(scores.is_correct::integer::double, scores.score, 0) as worth
    from answers_to_plan_from
    inner join scores using (audit_run_id, prediction_id)
)

select
    model_id,
    task_id,
    strategy,
    scoring_method,
    prompt_variant_id as wording,
    prompt_variant_id,
    sample_id,
    avg(worth) as mean,
    var_samp(worth) as within,
    count(*) as n_asks
from asks
where measure = $measure
group by all
order by model_id, task_id, strategy, scoring_method, wording, sample_id
