-- one row a model, task, strategy and refused sample, the most often refused first, with its first refusal and other answers
with answers as (
    select
        *,
        answer_status = 'refused' as is_refused
    from marts.fct_predictions
    where audit_run_id = $run and answer_status != 'error'
),

other_answers as (
    select
        model_id,
        task_id,
        strategy,
        sample_id,
        label,
        count(*) as n
    from answers
    where not is_refused
    group by all
),

others as (
    select
        model_id,
        task_id,
        strategy,
        sample_id,
        list({'label': label, 'n': n} order by n desc, label asc) as other_answers
    from other_answers
    group by all
)

select
    model_id,
    task_id,
    strategy,
    sample_id,
    count(*) filter (is_refused) as n_refused,
    count(*) as n_answers,
    count(distinct prompt_variant_id) filter (is_refused) as n_variants_refused,
    count(distinct prompt_variant_id) as n_variants,
    coalesce(bool_or(is_refused) filter (is_original), false) as is_original_refused,
    arg_min(completion, (variant_index, repetition)) filter (is_refused) as refusal,
    coalesce(any_value(others.other_answers), []) as other_answers
from answers
left join others using (model_id, task_id, strategy, sample_id)
group by model_id, task_id, strategy, sample_id
having n_refused > 0
order by n_refused / n_answers desc, n_refused desc, model_id asc, task_id asc, strategy asc, sample_id asc
