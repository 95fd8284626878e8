-- One row per comparison, task, strategy and prompt variant of either run: its number.
with sides as {{ all_of('int_sides_paired') }},

variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

runs as (
    select distinct
        comparison_id,
        task_id,
        strategy,
        audit_run_id
    from sides
),

final as (
    select
        runs.comparison_id,
        runs.task_id,
        runs.strategy,
        variants.prompt_variant_id,
        any_value(variants.is_original) as is_original,
        row_number() over (
            partition by runs.comparison_id, runs.task_id, runs.strategy
            order by
                any_value(variants.paraphrase_temperature) nulls first,
                any_value(variants.variant_index),
                variants.prompt_variant_id
        )::integer as variant,
        -- as of int_annotators_inter: what differs in another respect than its wording is in no group beside a sweep
        case
            when any_value(variants.paraphrase_temperature) is not null
                then
                    dense_rank() over (
                        partition by runs.comparison_id, runs.task_id, runs.strategy
                        order by any_value(variants.paraphrase_temperature)
                    )::integer
            when
                not any_value(variants.is_worded_alone)
                and count(any_value(variants.paraphrase_temperature)) over (
                    partition by runs.comparison_id, runs.task_id, runs.strategy
                ) > 0
                then -2
            else -1
        end as temperature
    from runs
    inner join variants using (audit_run_id, task_id, strategy)
    group by runs.comparison_id, runs.task_id, runs.strategy, variants.prompt_variant_id
)

select * from final
