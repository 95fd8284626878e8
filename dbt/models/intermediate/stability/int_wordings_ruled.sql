-- One row per run and prompt variant of a task and strategy of which some rewording was ruled on: whether it asks the same as
-- the original. People's majority counts before judges', and where people are tied judges decide. The original asks the same,
-- and what has its instruction; NULL where nobody ruled, or those who did are tied.
with verdicts as (
    select * from {{ ref('fct_verdicts') }}
    where prompt_variant_id is not null and is_settled and is_current and is_match is not null and {{ in_this_build() }}
),

variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

originals as (
    select
        audit_run_id,
        task_id,
        strategy,
        any_value(instruction) as original
    from variants
    where is_original
    group by all
),

worded as (
    select
        variants.*,
        originals.original
    from variants
    left join originals using (audit_run_id, task_id, strategy)
),

-- equal texts of a task are ruled on once; a person may rule again: the last word counts
newest as (
    select
        verdicts.*,
        worded.instruction,
        worded.original
    from verdicts
    inner join worded
        on verdicts.audit_run_id = worded.audit_run_id and verdicts.prompt_variant_id = worded.prompt_variant_id
    qualify
        row_number() over (
            partition by
                verdicts.audit_run_id, verdicts.rater, verdicts.repetition, verdicts.task_id,
                worded.original, worded.instruction
            order by verdicts.landed_at desc, verdicts.verdict_id asc
        ) = 1
),

votes as (
    select
        audit_run_id,
        task_id,
        original,
        instruction,
        starts_with(rater, 'person:') as is_person,
        sum(if(is_match, 1, -1)) as balance,
        min(reason) filter (not is_match) as reason_against,
        min(reason) filter (is_match) as reason_for
    from newest
    group by all
),

rulings as (
    select
        audit_run_id,
        task_id,
        original,
        instruction,
        balance,
        if(balance < 0, reason_against, reason_for) as reason
    from votes
    qualify
        row_number() over (
            partition by audit_run_id, task_id, original, instruction order by balance = 0, is_person desc
        ) = 1
),

ruled as (
    select
        worded.audit_run_id,
        worded.task_id,
        worded.strategy,
        worded.prompt_variant_id,
        coalesce(worded.instruction = worded.original, worded.is_original) as is_of_original,
        rulings.balance,
        rulings.reason,
        count(rulings.balance) over (
            partition by worded.audit_run_id, worded.task_id, worded.strategy
        ) as n_ruled
    from worded
    left join rulings using (audit_run_id, task_id, original, instruction)
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
