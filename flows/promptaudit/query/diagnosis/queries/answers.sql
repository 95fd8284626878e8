with sensitive as (
    select sample_id
    from marts.fct_sensitivity
    where audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy and sensitivity > 0
    order by sensitivity desc, sample_id asc
    limit $most
),

-- as for p_tau: where paraphrase temperatures are swept, one wording under several of them is one; what differs in another
-- respect has the original's instruction and is one of its own
wordings as (
    select
        prompt_variant_id,
        if(
            count(paraphrase_temperature) over () > 0
            and coalesce(variants.variation, 'wording') in ('original', 'wording'),
            coalesce(instruction, prompt_variant_id),
            prompt_variant_id
        ) as wording
    from marts.dim_prompt_variants as variants
    where audit_run_id = $run and task_id = $task and strategy = $strategy and refused_because is null
)

select
    found.sample_id,
    wordings.wording,
    found.label,
    count(*) as n
from marts.fct_predictions as found
inner join sensitive using (sample_id)
inner join wordings using (prompt_variant_id)
where
    found.audit_run_id = $run and found.model_id = $model and found.task_id = $task and found.strategy = $strategy
    and found.answer_status != 'error'
group by all
order by all
