-- One row per comparison, task, strategy and prompt variant of either run: its number, and whether both asked it.
with runs as (
    select distinct
        comparison_id,
        task_id,
        strategy,
        side,
        audit_run_id
    from {{ ref('int_sides_paired') }}
)

select
    runs.comparison_id,
    runs.task_id,
    runs.strategy,
    variants.prompt_variant_id,
    any_value(variants.is_original) as is_original,
    count(distinct runs.side) = 2 as is_shared,
    row_number() over (
        partition by runs.comparison_id, runs.task_id, runs.strategy
        order by
            any_value(variants.paraphrase_temperature) nulls first,
            any_value(variants.variant_index),
            variants.prompt_variant_id
    ) as variant,
    -- a code for each paraphrase temperature, -1 without
    if(
        any_value(variants.paraphrase_temperature) is null,
        -1,
        dense_rank() over (
            partition by runs.comparison_id, runs.task_id, runs.strategy
            order by any_value(variants.paraphrase_temperature)
        )
    ) as temperature
from runs
inner join {{ ref('stg_prompt_variants') }} as variants using (audit_run_id, task_id, strategy)
where not variants.is_refused and {{ in_this_build('variants.audit_run_id') }}
group by runs.comparison_id, runs.task_id, runs.strategy, variants.prompt_variant_id
