-- One row per comparison, model, task, strategy and measure: its values on normal nights, and how far neighbouring ones lie
-- apart; of label_churn the disagreement of two of the newest normal nights each.
with nights as {{ all_of('int_nights_alike', where='is_normal') }},

samples as {{ all_of('int_samples_paired') }},

asked as (
    select
        nights.comparison_id,
        nights.model_id,
        nights.task_id,
        nights.strategy,
        nights.own_model_id,
        nights.own_strategy,
        nights.other_run_id,
        nights.age,
        own.sample_id,
        samples.sample_index,
        samples.cluster_index,
        row_number() over (
            partition by nights.comparison_id, nights.model_id, nights.task_id, nights.strategy, own.sample_id
            order by nights.age
        ) as place
    from nights
    inner join samples using (comparison_id, task_id)
    inner join {{ ref('dim_samples') }} as own
        on
            nights.other_run_id = own.audit_run_id
            and nights.task_id = own.task_id
            and samples.sample_id = own.sample_id
            and samples.content = md5(json_array(own.input, own.options, own.gold_label)::varchar)
),

by_measure as (
    select
        asked.comparison_id,
        asked.model_id,
        asked.task_id,
        asked.strategy,
        figures.measure,
        list(asked.age order by asked.age, asked.sample_index) as ages,
        list(asked.sample_index order by asked.age, asked.sample_index) as samples,
        list(asked.cluster_index order by asked.age, asked.sample_index) as clusters,
        list(figures.figure order by asked.age, asked.sample_index) as figures,
        []::integer[] as other_ages
    from asked
    inner join {{ ref('fct_sample_values') }} as figures
        on
            asked.other_run_id = figures.audit_run_id
            and asked.own_model_id = figures.model_id
            and asked.task_id = figures.task_id
            and asked.own_strategy = figures.strategy
            and asked.sample_id = figures.sample_id
    group by all
),

spread_out as (
    select
        *,
        try_night_spread(
            {{ group_keys(keys=['comparison_id', 'model_id', 'task_id', 'strategy'], is_row=true) }},
            ages, samples, clusters, figures, list_distinct(ages)
        ) as spread
    from by_measure
),

between_nights as (
    select
        first.comparison_id,
        first.model_id,
        first.task_id,
        first.strategy,
        'label_churn' as measure,
        list(first.age order by first.age, second.age, first.sample_index) as ages,
        list(first.sample_index order by first.age, second.age, first.sample_index) as samples,
        list(first.cluster_index order by first.age, second.age, first.sample_index) as clusters,
        list(apart.apart order by first.age, second.age, first.sample_index) as figures,
        list(second.age order by first.age, second.age, first.sample_index) as other_ages
    from asked as first
    inner join {{ ref('fct_nights_apart') }} as apart
        on
            first.other_run_id = apart.audit_run_id
            and first.own_model_id = apart.model_id
            and first.task_id = apart.task_id
            and first.own_strategy = apart.strategy
            and first.sample_id = apart.sample_id
    inner join asked as second
        on
            first.comparison_id = second.comparison_id
            and first.model_id = second.model_id
            and first.task_id = second.task_id
            and first.strategy = second.strategy
            and first.sample_id = second.sample_id
            and apart.other_run_id = second.other_run_id
    where first.age < second.age and first.place <= 12 and second.place <= 12 -- 66 pairs
    group by all
),

shared as (
    select
        comparison_id,
        measure,
        coalesce(sum(spread.q order by model_id, task_id, strategy), 0) as q,
        coalesce(sum(spread.n_pairs), 0)::integer as n_pairs
    from spread_out
    group by all
),

final as (
    select
        spread_out.comparison_id,
        spread_out.model_id,
        spread_out.task_id,
        spread_out.strategy,
        spread_out.measure,
        spread_out.other_ages,
        {
            'age': spread_out.ages,
            'sample': spread_out.samples,
            'value': spread_out.figures,
            'spread': spread_out.spread,
            'shared': {'q': shared.q, 'n_pairs': shared.n_pairs}
        } as nights
    from spread_out
    inner join shared using (comparison_id, measure)
    union all by name
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        measure,
        other_ages,
        {
            'age': ages,
            'sample': samples,
            'value': figures,
            'spread': {'q': 0.0::double, 'n_pairs': 0},
            'shared': {'q': 0.0::double, 'n_pairs': 0}
        } as nights
    from between_nights
)

select * from final
