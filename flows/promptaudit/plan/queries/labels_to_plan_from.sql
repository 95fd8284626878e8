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

counted as (
    select
        answers.model_id,
        answers.task_id,
        answers.strategy,
        answers.prompt_variant_id,
        if(
            variants.is_swept,
            coalesce(variants.instruction, variants.prompt_variant_id),
            variants.prompt_variant_id
        ) as wording,
        answers.sample_id,
        answers.label,
        answers.n_classes,
        count(*) as n
    from answers_to_plan_from as answers
    inner join variants on answers.prompt_variant_id = variants.prompt_variant_id
    where answers.kind not in ('open_ended', 'extraction') and answers.n_classes is not null
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
        min(n_asks)::bigint as n_asks,
        min(prompt_variant_id) as prompt_variant_id
    from shares
    group by all
)

select
    * exclude (share),
    share / sum(share) over (partition by model_id, task_id, strategy, wording, sample_id) as p
from wordings
order by model_id, task_id, strategy, wording, sample_id, label
