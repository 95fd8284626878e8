-- One row per run and prompt variant that was asked: the number of its wording, and of the original's ask it may be.
-- Where paraphrase temperatures are swept one wording comes up under several of them and counts once for p_tau;
-- elsewhere every variant counts, equal wordings too.
with variants as (
    select * from {{ ref('stg_prompt_variants') }}
    where not is_refused and {{ in_this_build() }}
),

swept as (
    select
        *,
        count(paraphrase_temperature) over (partition by audit_run_id, task_id, strategy) > 0 as is_swept
    from variants
),

final as (
    select
        audit_run_id,
        task_id,
        strategy,
        prompt_variant_id,
        paraphrase_temperature,
        variant_index,
        is_original,
        instruction,
        repetitions,
        dense_rank() over (
            partition by audit_run_id, task_id, strategy
            order by if(is_swept, coalesce(instruction, prompt_variant_id), prompt_variant_id)
        ) as wording_index
    from swept
)

select * from final
