-- One row per run and prompt variant of a task and strategy of which some rewording was ruled on: whether it asks the same as the
-- original. People's majority counts before judges'. The original asks the same, and what has its instruction; NULL where
-- nobody ruled, or those who did are tied.
with verdicts as (
    select * from {{ ref('fct_verdicts') }}
    where prompt_variant_id is not null and is_settled and is_current and is_match is not null and {{ in_this_build() }}
),

variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

-- a person may rule again: the last word counts
newest as (
    select *
    from verdicts
    qualify
        row_number() over (
            partition by audit_run_id, rater, repetition, prompt_variant_id
            order by landed_at desc, verdict_id asc
        ) = 1
),

-- equal texts of a task are ruled on once
votes as (
    select
        newest.audit_run_id,
        newest.task_id,
        variants.instruction,
        starts_with(newest.rater, 'person:') as is_person,
        sum(if(newest.is_match, 1, -1)) as balance,
        count(distinct newest.rater) as n_raters,
        min(newest.reason) filter (not newest.is_match) as reason_against,
        min(newest.reason) as reason
    from newest
    inner join variants using (audit_run_id, prompt_variant_id)
    group by all
),

rulings as (
    select
        audit_run_id,
        task_id,
        instruction,
        balance,
        coalesce(if(balance < 0, reason_against, null), reason) as reason
    from votes
    qualify row_number() over (partition by audit_run_id, task_id, instruction order by balance = 0, is_person desc) = 1
),

originals as (
    select
        audit_run_id,
        task_id,
        strategy,
        any_value(instruction) as instruction
    from variants
    where is_original
    group by all
),

ruled as (
    select
        variants.audit_run_id,
        variants.task_id,
        variants.strategy,
        variants.prompt_variant_id,
        coalesce(variants.instruction = originals.instruction, variants.is_original) as is_of_original,
        rulings.balance,
        rulings.reason,
        count(rulings.balance) over (
            partition by variants.audit_run_id, variants.task_id, variants.strategy
        ) as n_ruled
    from variants
    left join originals using (audit_run_id, task_id, strategy)
    left join rulings
        on
            variants.audit_run_id = rulings.audit_run_id
            and variants.task_id = rulings.task_id
            and variants.instruction = rulings.instruction
),

final as (
    select
        audit_run_id,
        task_id,
        strategy,
        prompt_variant_id,
        case
            when is_of_original then true
            when balance != 0 then balance > 0
        end as asks_the_same,
        if(is_of_original, null, reason) as reason
    from ruled
    where n_ruled > 0
)

select * from final
