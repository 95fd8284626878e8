-- One row per run, model, task and strategy: the measures that take a whole group at once, with their intervals.
with sensitivities as {{ of_this_build('int_sensitivities_measured') }},

consistencies as {{ of_this_build('int_consistencies_measured') }},

working as {{ of_this_build('int_wordings_working') }},

broken as {{ of_this_build('int_wordings_working', where='is_breaking') }},

majorities as {{ of_this_build('int_majorities_measured') }},

samples_right as {{ of_this_build('int_samples_right') }},

averaged as {{ of_this_build('int_cells_averaged') }},

variants_asked as {{ variants_numbered('averaged') }},

cells as (
    select
        averaged.*,
        variants_asked.variant
    from averaged
    inner join variants_asked using (audit_run_id, task_id, strategy, prompt_variant_id)
),

cells_with_gold as (
    select * from cells
    where accuracy is not null
),

accuracies as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        try_two_way_interval(
            {{ group_keys() }},
            list(sample_index), list(variant), list(accuracy), list(family_index)
        ) as micro_f1,
        try_wording_quantiles(
            {{ group_keys() }},
            list(sample_index), list(variant), list(accuracy)
        ) as micro_f1_over_wordings
    from cells_with_gold
    group by all
),

accuracies_unbroken as (
    select
        cells_with_gold.audit_run_id,
        cells_with_gold.model_id,
        cells_with_gold.task_id,
        cells_with_gold.strategy,
        try_two_way_interval(
            {{ group_keys('cells_with_gold') }},
            list(cells_with_gold.sample_index),
            list(cells_with_gold.variant),
            list(cells_with_gold.accuracy),
            list(cells_with_gold.family_index)
        ) as micro_f1_unbroken
    from cells_with_gold
    semi join broken using (audit_run_id, model_id, task_id, strategy)
    inner join working using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    where not working.is_breaking
    group by all
),

-- of samples under these wordings: a single one to `two_way_interval`, which is for other samples alone then
shares_right as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        try_two_way_interval(
            {{ group_keys() }},
            list(sample_index), list(0), list(is_right_under_all::integer::double), list(0)
        ) as under_all,
        try_two_way_interval(
            {{ group_keys() }},
            list(sample_index), list(0), list(is_right_under_any::integer::double), list(0)
        ) as under_any,
        count(is_right_under_all) as n_under_all,
        count(is_right_under_any) as n_under_any
    from samples_right
    group by all
),

invalids as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        try_two_way_interval(
            {{ group_keys() }},
            list(sample_index), list(variant), list(invalid_share), list(family_index)
        ) as invalid_rate
    from cells
    group by all
),

final as (
    select
        invalids.*,
        sensitivities.sensitivity,
        sensitivities.consistency_rate,
        consistencies.consistency,
        consistencies.consistency_wordings,
        accuracies.micro_f1,
        accuracies.micro_f1_over_wordings,
        accuracies_unbroken.micro_f1_unbroken,
        sensitivities.sensitivity_unbroken,
        sensitivities.sensitivity_same_meaning,
        majorities.majority,
        shares_right.under_all,
        shares_right.under_any,
        shares_right.n_under_all,
        shares_right.n_under_any
    from invalids
    left join sensitivities using (audit_run_id, model_id, task_id, strategy)
    left join consistencies using (audit_run_id, model_id, task_id, strategy)
    left join accuracies using (audit_run_id, model_id, task_id, strategy)
    left join accuracies_unbroken using (audit_run_id, model_id, task_id, strategy)
    left join majorities using (audit_run_id, model_id, task_id, strategy)
    left join shares_right using (audit_run_id, model_id, task_id, strategy)
)

select * from final
