-- One row per comparison, task, strategy and prompt variant of either run: its number. Variants of two strategies that word the
-- instruction alike have one number.
with sides as {{ all_of('int_sides_paired') }},

variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

runs as (
    select distinct
        comparison_id,
        task_id,
        strategy,
        own_strategy,
        audit_run_id
    from sides
),

worded as (
    select
        runs.comparison_id,
        runs.task_id,
        runs.strategy,
        variants.prompt_variant_id,
        variants.variant_index,
        variants.paraphrase_temperature,
        variants.is_original,
        variants.is_worded_alone,
        if(
            count(distinct runs.own_strategy) over (partition by runs.comparison_id, runs.task_id, runs.strategy) > 1
            and variants.instruction is not null,
            json_array(
                variants.paraphrase_temperature,
                variants.variation,
                variants.setting,
                variants.template,
                variants.instruction,
                -- equal wordings of one strategy stay as many
                row_number() over (
                    partition by
                        runs.comparison_id,
                        runs.strategy,
                        runs.audit_run_id,
                        runs.task_id,
                        runs.own_strategy,
                        variants.paraphrase_temperature,
                        variants.variation,
                        variants.setting,
                        variants.template,
                        variants.instruction
                    order by variants.variant_index, variants.prompt_variant_id
                )
            )::varchar,
            variants.prompt_variant_id
        ) as wording
    from runs
    inner join variants
        on
            runs.audit_run_id = variants.audit_run_id
            and runs.task_id = variants.task_id
            and runs.own_strategy = variants.strategy
),

numbered as (
    select
        comparison_id,
        task_id,
        strategy,
        wording,
        any_value(is_original) as is_original,
        row_number() over (
            partition by comparison_id, task_id, strategy
            order by any_value(paraphrase_temperature) nulls first, min(variant_index), wording
        )::integer as variant,
        -- as of int_annotators_inter: what differs in another respect than its wording is in no group beside a sweep
        case
            when any_value(paraphrase_temperature) is not null
                then
                    dense_rank() over (
                        partition by comparison_id, task_id, strategy order by any_value(paraphrase_temperature)
                    )::integer
            when
                not any_value(is_worded_alone)
                and count(any_value(paraphrase_temperature)) over (partition by comparison_id, task_id, strategy) > 0
                then -2
            else -1
        end as temperature
    from worded
    group by comparison_id, task_id, strategy, wording
),

final as (
    select distinct
        numbered.comparison_id,
        numbered.task_id,
        numbered.strategy,
        worded.prompt_variant_id,
        numbered.is_original,
        numbered.variant,
        numbered.temperature
    from numbered
    inner join worded using (comparison_id, task_id, strategy, wording)
)

select * from final
