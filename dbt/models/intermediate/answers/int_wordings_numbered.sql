-- One row per run and prompt variant that was asked: the number of its wording, and of the family of wordings that it is of.
-- Where paraphrase temperatures are swept one wording comes up under several of them and counts once for p_tau;
-- elsewhere every variant counts, equal wordings too. What differs in more than its wording is a wording of its own.
with variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

swept as (
    select
        *,
        if(variation in ('original', 'wording'), instruction, null) as own_wording,
        count(paraphrase_temperature) over (partition by audit_run_id, task_id, strategy) > 0 as is_swept
    from variants
),

numbered as (
    select
        *,
        dense_rank() over (
            partition by audit_run_id, task_id, strategy
            order by if(is_swept, coalesce(own_wording, prompt_variant_id), prompt_variant_id)
        )::integer as wording_index
    from swept
),

-- a template is no instruction: what differs between two of them may be the layout alone, as of formats and orders
texts as (
    select
        audit_run_id,
        task_id,
        strategy,
        wording_index,
        min(if(template is null, own_wording, null)) as text
    from numbered
    group by all
),

families as (
    select
        audit_run_id,
        task_id,
        strategy,
        unnest(list(wording_index order by wording_index)) as wording_index,
        unnest(try_wording_families(
            {{ group_keys(keys=['audit_run_id', 'task_id', 'strategy']) }}, list(text order by wording_index)
        ))::integer as family_index
    from texts
    group by audit_run_id, task_id, strategy
),

final as (
    select
        numbered.audit_run_id,
        numbered.task_id,
        numbered.strategy,
        numbered.prompt_variant_id,
        numbered.paraphrase_temperature,
        numbered.variant_index,
        numbered.is_original,
        numbered.is_worded_alone,
        numbered.instruction,
        numbered.repetitions,
        numbered.wording_index,
        -- where families cannot be told each wording is its own
        coalesce(families.family_index, numbered.wording_index)::integer as family_index
    from numbered
    inner join families using (audit_run_id, task_id, strategy, wording_index)
)

select * from final
