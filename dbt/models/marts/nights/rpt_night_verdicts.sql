-- One row per night, model, task, strategy and measure: its verdict, and why, as far as anything recorded says so.
-- What changed is that of the comparison with the newest normal night, where somebody made it, and so are cost and latency, which
-- are no figures of samples.
{{ config(materialized='view') }}
with figures as {{ all_of('rpt_night_figures') }},

comparisons as (
    select
        base_run_id,
        candidate_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        any_value(cause) as cause,
        any_value(reason) as reason
    from {{ ref('rpt_run_comparisons').include(database=false) }}
    where base_model_id = model_id and coalesce(base_strategy, strategy) = strategy
    group by all
    union all by name
    -- what changed how a model answers is what changed its labels, and no judge
    select
        base_run_id,
        candidate_run_id,
        model_id,
        task_id,
        strategy,
        'of answers' as measure,
        -- what is scored may have causes of its own
        arg_min(cause, (starts_with(measure, 'accuracy'), measure)) as cause,
        arg_min(reason, (starts_with(measure, 'accuracy'), measure)) as reason
    from {{ ref('rpt_run_comparisons').include(database=false) }}
    where
        base_model_id = model_id
        and coalesce(base_strategy, strategy) = strategy
        and verdict not in ('not_comparable', 'not_judged')
        and not contains(measure, ':judge:')
    group by all
),

-- of a judge there is no comparison of answers, but what the two runs recorded of who serves it
serving as (
    select
        base_run_id,
        candidate_run_id,
        'judge:' || judge_id as model_id,
        any_value(cause) as cause,
        coalesce(any_value(cause_phrase), any_value(cause)) -- of rows before there were phrases
        || ' (' || string_agg(what || ' ' || base || ' -> ' || candidate, ', ' order by what) || ')' as reason
    from (
        select distinct
            base_run_id,
            candidate_run_id,
            judge_id,
            cause,
            cause_phrase,
            what,
            base,
            candidate
        from {{ ref('rpt_run_changes').include(database=false) }}
        where judge_id is not null
    ) as changes
    group by all
),

compared as (
    select distinct
        base_run_id,
        candidate_run_id
    from {{ ref('rpt_run_comparisons').include(database=false) }}
),

normal as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy,
        normal_run_id
    from figures
    where normal_run_id is not null
),

costs as (
    select
        normal.audit_run_id,
        found.audit_id,
        found.model_id,
        found.task_id,
        found.strategy,
        found.measure,
        found.base,
        found.candidate,
        found.difference,
        found.difference_low,
        found.difference_high,
        found.q_value,
        found.verdict,
        found.cause,
        found.reason,
        null::varchar as what_changed,
        1 as n_nights_told,
        1 as n_nights_normal,
        found.n_samples,
        normal.normal_run_id,
        false as is_pinned,
        null::varchar as since_run_id,
        null::varchar as worse_since_run_id
    from normal
    inner join {{ ref('rpt_run_comparisons').include(database=false) }} as found
        on
            normal.normal_run_id = found.base_run_id
            and normal.audit_run_id = found.candidate_run_id
            and normal.model_id = found.model_id
            and normal.task_id = found.task_id
            and normal.strategy = found.strategy
    where
        found.measure in ('cost_usd', 'latency_ms')
        and found.base_model_id = found.model_id
        and coalesce(found.base_strategy, found.strategy) = found.strategy
    -- compared again under other thresholds they are the same
    qualify
        row_number() over (
            partition by normal.audit_run_id, found.model_id, found.task_id, found.strategy, found.measure
            order by found.comparison_id
        ) = 1
),

verdicts as (
    select * from costs
    union all by name
    select
        figures.audit_run_id,
        figures.audit_id,
        figures.model_id,
        figures.task_id,
        figures.strategy,
        figures.measure,
        figures.base,
        figures.candidate,
        figures.difference,
        figures.difference_low,
        figures.difference_high,
        figures.q_value,
        figures.verdict,
        coalesce(
            comparisons.cause,
            serving.cause,
            if(
                {{ is_judge('figures.model_id', 'figures.strategy') }} and compared.base_run_id is not null,
                'nothing_changed',
                null
            )
        ) as cause,
        figures.reason,
        if(
            coalesce(comparisons.cause, serving.cause) = 'nothing_changed',
            null,
            coalesce(comparisons.reason, serving.reason)
        ) as what_changed,
        figures.n_nights_told,
        figures.n_nights_normal,
        figures.n_samples,
        figures.normal_run_id,
        figures.is_pinned,
        figures.since_run_id,
        figures.worse_since_run_id,
        figures.moved_gold_label,
        figures.moved_label,
        figures.n_moved,
        figures.n_moved_before,
        figures.n_moved_samples
    from figures
    left join comparisons
        on
            figures.normal_run_id = comparisons.base_run_id
            and figures.audit_run_id = comparisons.candidate_run_id
            and figures.model_id = comparisons.model_id
            and figures.task_id = comparisons.task_id
            and figures.strategy = comparisons.strategy
            and if(
                figures.measure in {{ answer_measures() }}
                or figures.measure = 'lost_samples'
                or {{ is_of_class('figures.measure') }}
                or {{ is_of_wording('figures.measure') }},
                'of answers',
                figures.measure
            ) = comparisons.measure
    left join serving
        on
            figures.normal_run_id = serving.base_run_id
            and figures.audit_run_id = serving.candidate_run_id
            and figures.model_id = serving.model_id
    left join compared
        on figures.normal_run_id = compared.base_run_id and figures.audit_run_id = compared.candidate_run_id
),

final as (
    select
        *,
        {{ measure_version() }}
    from verdicts
)

select * from final
