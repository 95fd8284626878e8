-- each label of a cell of a run that takes part in sensitivity: its share of the cell's asks; NULL is the class N/A
-- one wording under several paraphrase temperatures counts once, as in p_tau
with variants as (
    select
        prompt_variant_id,
        instruction,
        count(paraphrase_temperature) over (partition by task_id, strategy) > 0 as is_swept
    from marts.dim_prompt_variants
    where audit_run_id = $run
),

tasks as (
    select
        task_id,
        len(labels) + 1 as n_classes
    from marts.dim_tasks
    where audit_run_id = $run and kind is distinct from 'open_ended' and labels is not null
),

counted as (
    select
        predictions.model_id,
        predictions.task_id,
        predictions.strategy,
        predictions.prompt_variant_id,
        if(
            variants.is_swept, coalesce(variants.instruction, predictions.prompt_variant_id), predictions.prompt_variant_id
        ) as wording,
        predictions.sample_id,
        predictions.label,
        tasks.n_classes,
        count(*) as n
    from marts.fct_predictions as predictions
    inner join variants using (prompt_variant_id)
    inner join tasks on predictions.task_id = tasks.task_id
    where predictions.audit_run_id = $run and predictions.answer_status != 'error' and not predictions.is_quarantined
    group by all
),

shares as (
    select
        * exclude (n),
        n / sum(n) over (partition by model_id, prompt_variant_id, sample_id) as share,
        sum(n) over (partition by model_id, prompt_variant_id, sample_id) as n_asks
    from counted
),

wordings as (
    select
        model_id,
        task_id,
        strategy,
        wording,
        sample_id,
        label,
        n_classes,
        sum(share) as share,
        min(n_asks)::bigint as n_asks
    from shares
    group by all
)

select
    * exclude (share),
    share / sum(share) over (partition by model_id, task_id, strategy, wording, sample_id) as p
from wordings
order by model_id, task_id, strategy, wording, sample_id, label
