with chosen as (
    select
        unnest($model_ids::varchar[]) as model_id,
        unnest($task_ids::varchar[]) as task_id,
        unnest($strategies::varchar[]) as strategy,
        unnest($sample_ids::varchar[]) as sample_id,
        unnest(range(len($sample_ids::varchar[]))) as rank
),

-- why an answer gives no label
unread as (
    select
        scores.prediction_id,
        scores.reason
    from marts.fct_scores as scores
    inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
    where
        scores.audit_run_id = $run and tasks.kind in ('classification', 'multiple_choice')
        and scores.scoring_method = tasks.scoring_methods[1] and scores.unscored_kind = 'not_read'
),

-- what an open answer is worth by the first rule of its task
worths as (
    select
        scores.prediction_id,
        coalesce(scores.is_correct::integer::double, scores.score) as worth
    from marts.fct_scores as scores
    inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
    where
        scores.audit_run_id = $run and tasks.kind in ('open_ended', 'extraction')
        and scores.scoring_method = tasks.scoring_methods[1] and scores.score_state = 'scored'
),

said as (
    select
        chosen.rank,
        said.*
    from marts.fct_predictions as said
    inner join chosen using (model_id, task_id, strategy, sample_id)
    where said.audit_run_id = $run
)

-- One row per answer to a chosen sample. Whole texts, the first ones, have no more than $most_characters in all.
select
    said.rank,
    said.prompt_variant_id,
    said.repetition,
    said.answer_status,
    nullif(unread.reason, said.answer_status) as unread_because,
    said.prompt_tokens,
    said.completion_tokens,
    said.cost_usd,
    list_contains(variants.breaking_for, said.model_id) as is_breaking,
    said.prediction_id,
    if(said.answer_status = 'valid', said.label, null) as label,
    case coalesce(said.is_correct::integer::double, worths.worth)
        when 1 then 'right' when 0 then 'wrong'
        else if(said.is_correct is null and worths.worth is null, null, 'partly right')
    end as ruling,
    length(said.completion) as n_characters,
    left(
        said.completion,
        if(
            sum(least(length(said.completion), $long)) over (
                order by said.rank, said.prompt_variant_id, said.repetition rows unbounded preceding
            ) <= $most_characters,
            $long, $short
        )
    ) as completion
from said
inner join marts.dim_prompt_variants as variants using (audit_run_id, prompt_variant_id)
left join worths using (prediction_id)
left join unread using (prediction_id)
order by said.rank, said.prompt_variant_id, said.repetition
