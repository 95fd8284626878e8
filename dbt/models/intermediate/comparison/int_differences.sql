-- One row per comparison, model, task, strategy and measure: both figures, their difference and what chance would give.
with paired as {{ all_of('int_groups_paired') }},

found as {{ all_of('int_values_paired') }},

alike as {{ all_of('int_values_alike') }},

ages as {{ all_of('int_nights_alike') }},

samples as {{ all_of('int_samples_paired') }},

clusters as (
    select
        comparison_id,
        task_id,
        {'sample': list(sample_index), 'cluster': list(cluster_index)} as clusters
    from samples
    group by all
),

placed as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        arg_min(age, age) filter (other_run_id = base_run_id) as base_age,
        arg_min(age, age) filter (other_run_id = candidate_run_id) as candidate_age
    from ages
    inner join paired using (comparison_id, model_id, task_id, strategy)
    group by all
),

measured as (
    select
        found.comparison_id,
        found.model_id,
        found.task_id,
        found.strategy,
        found.measure,
        found.found,
        clusters.clusters,
        coalesce(placed.base_age, 1) as base_age,
        coalesce(placed.candidate_age, 0) as candidate_age,
        paired.base_run_id != paired.candidate_run_id as are_apart,
        paired.base_model_id,
        paired.are_two_groups,
        not paired.are_two_groups and not found.found.is_redrawn as have_same_cells,
        -- two nights of one plan, of which normal nights say how far they lie apart
        have_same_cells and placed.base_age is not null and placed.candidate_age is not null as are_nights,
        coalesce(
            if(found.measure = 'label_churn' and not are_nights, null, alike.nights),
            {
                'age': []::integer[],
                'sample': []::integer[],
                'value': []::double[],
                'spread': {'q': 0.0::double, 'n_pairs': 0},
                'shared': {'q': 0.0::double, 'n_pairs': 0}
            }
        ) as nights,
        if(are_nights, coalesce(alike.other_ages, []), []) as other_ages
    from found
    inner join paired using (comparison_id, model_id, task_id, strategy)
    inner join clusters using (comparison_id, task_id)
    left join placed using (comparison_id, model_id, task_id, strategy)
    left join alike using (comparison_id, model_id, task_id, strategy, measure)
),

compared as (
    select
        *,
        case
            when found.reason is not null or len(found.sample) = 0 then null
            when measure = 'label_churn' and have_same_cells
                then
                    try_compare_churn(
                        {{ group_keys(keys=['comparison_id', 'model_id', 'task_id', 'strategy'], is_row=true) }},
                        found.sample, found.in_base, found.in_candidate, clusters, found.n_wordings,
                        abs(base_age - candidate_age)::integer, nights, other_ages
                    )
            when measure != 'label_churn'
                then
                    try_compare_values(
                        {{ group_keys(keys=['comparison_id', 'model_id', 'task_id', 'strategy'], is_row=true) }},
                        found.sample, found.in_base, found.in_candidate, clusters, found.n_wordings, found.wordings,
                        {{ is_rate('measure') }}, coalesce(are_nights, false), are_apart, base_age, candidate_age, nights
                    )
        end as test
    from measured
),

final as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        measure,
        if(measure = 'label_churn' and test.difference is not null, found.candidate - test.difference, found.base) as base,
        found.candidate,
        coalesce(test.difference, found.candidate - found.base) as difference,
        test.low as difference_low,
        test.high as difference_high,
        test.p_value,
        test.standard_error,
        test.degrees_of_freedom,
        test.n_alike_nights,
        test.spread_factor,
        test.night_sd,
        coalesce(test.n_samples, len(found.sample))::integer as n_samples,
        found.n_wordings as n_variants,
        found.n_repetitions,
        are_apart and coalesce(test.n_alike_nights, 0) < 3 as is_unconfirmed,
        case
            when found.reason is not null then found.reason
            when measure = 'label_churn' and not have_same_cells
                then case
                    when base_model_id != model_id then 'two models'
                    when are_two_groups then 'two strategies'
                    else 'other variants'
                end
            when test.p_value is null then coalesce(test.reason, 'too little to test')
        end as reason,
        if(test.p_value is not null, test.reason, null) as doubt,
        case
            when are_nights and are_apart and test.n_alike_nights >= 3 then 'these samples under these wordings'
            when found.are_wordings_drawn then 'other samples and wordings'
            else 'other samples under these wordings'
        end as claim
    from compared
    union all by name
    select * from {{ ref('int_costs_compared') }}
    union all by name
    select * from {{ ref('int_groups_apart') }}
)

select * from final
