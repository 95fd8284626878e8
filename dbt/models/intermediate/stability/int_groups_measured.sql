-- One row per run, model, task and strategy: the measures that take a whole group at once, with their intervals.
with runs as {{ of_this_build('stg_audit_runs') }},

labels as {{ of_this_build('stg_task_labels') }},

wordings as {{ of_this_build('int_wordings_shared') }},

families as {{ of_this_build('int_families_shared') }},

labels_counted as {{ of_this_build('int_labels_counted') }},

by_gold as {{ of_this_build('int_p_tau_by_gold') }},

working as {{ of_this_build('int_wordings_working') }},

samples_right as {{ of_this_build('int_samples_right') }},

averaged as {{ of_this_build('int_cells_averaged') }},

grids as {{ of_this_build('int_grids') }},

classes as {{ classes_of('labels') }},

sensitivities as (
    select
        families.audit_run_id,
        families.model_id,
        families.task_id,
        families.strategy,
        sensitivity_interval(
            list(families.sample_index),
            list(families.family_index),
            list(families.label_index),
            list(families.p_family),
            any_value(classes.n_classes)
        ) as sensitivity
    from families
    inner join classes using (audit_run_id, task_id)
    inner join grids using (audit_run_id, task_id, strategy)
    where not grids.is_incomplete
    group by all
),

-- of groups of which some variant breaks, the same without it
broken as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy
    from working
    where is_breaking
),

unbroken as (
    select
        labels_counted.*,
        count(distinct labels_counted.prompt_variant_id) over (
            partition by
                labels_counted.audit_run_id,
                labels_counted.model_id,
                labels_counted.task_id,
                labels_counted.strategy,
                labels_counted.sample_index,
                labels_counted.family_index
        ) as n_variants_of_family
    from labels_counted
    semi join broken using (audit_run_id, model_id, task_id, strategy)
    inner join working using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    inner join grids using (audit_run_id, task_id, strategy)
    where not working.is_breaking and not grids.is_incomplete
),

unbroken_families as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        family_index,
        label_index,
        sum(p_variant) / any_value(n_variants_of_family) as p_family
    from unbroken
    group by all
),

sensitivities_unbroken as (
    select
        unbroken_families.audit_run_id,
        unbroken_families.model_id,
        unbroken_families.task_id,
        unbroken_families.strategy,
        sensitivity_interval(
            list(unbroken_families.sample_index),
            list(unbroken_families.family_index),
            list(unbroken_families.label_index),
            list(unbroken_families.p_family),
            any_value(classes.n_classes)
        ) as sensitivity_unbroken
    from unbroken_families
    inner join classes using (audit_run_id, task_id)
    group by all
),

-- equal wordings are counted, never merged: 1 - D_variant of int_disagreements
variants as {{ variants_numbered('labels_counted') }},

consistency_rates as (
    select
        labels_counted.audit_run_id,
        labels_counted.model_id,
        labels_counted.task_id,
        labels_counted.strategy,
        consistency_rate(
            list(labels_counted.sample_index),
            list(variants.variant),
            list(labels_counted.family_index),
            list(labels_counted.label_index),
            list(labels_counted.p_variant)
        ) as consistency_rate
    from labels_counted
    inner join variants using (audit_run_id, task_id, strategy, prompt_variant_id)
    inner join grids using (audit_run_id, task_id, strategy)
    where not grids.is_incomplete
    group by all
),

consistencies as (
    select
        by_gold.audit_run_id,
        by_gold.model_id,
        by_gold.task_id,
        by_gold.strategy,
        consistency(
            list(by_gold.gold_index),
            list(by_gold.sample_index),
            list(by_gold.label_index),
            list(by_gold.p_tau),
            any_value(runs.seed),
            any_value(runs.n_resamples)
        ) as consistency
    from by_gold
    inner join runs using (audit_run_id)
    group by all
),

wordings_by_gold as (
    select
        wordings.*,
        labels.label_index as gold_index
    from wordings
    semi join consistencies using (audit_run_id, model_id, task_id, strategy)
    inner join labels
        on
            wordings.audit_run_id = labels.audit_run_id
            and wordings.task_id = labels.task_id
            and wordings.gold_label = labels.label
),

consistencies_over_wordings as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        consistency_wordings(
            list(gold_index),
            list(sample_index),
            list(wording_index),
            list(family_index),
            list(label_index),
            list(p_wording)
        ) as consistency_wordings
    from wordings_by_gold
    group by all
),

variants_asked as {{ variants_numbered('averaged') }},

cells as (
    select
        averaged.*,
        grids.is_incomplete,
        variants_asked.variant
    from averaged
    inner join variants_asked using (audit_run_id, task_id, strategy, prompt_variant_id)
    inner join grids using (audit_run_id, task_id, strategy)
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
        two_way_interval(
            list(sample_index), list(variant), list(accuracy), list(family_index), any_value(is_incomplete)
        ) as micro_f1,
        wording_quantiles(list(sample_index), list(variant), list(accuracy)) as micro_f1_over_wordings
    from cells_with_gold
    group by all
),

accuracies_unbroken as (
    select
        cells_with_gold.audit_run_id,
        cells_with_gold.model_id,
        cells_with_gold.task_id,
        cells_with_gold.strategy,
        two_way_interval(
            list(cells_with_gold.sample_index),
            list(cells_with_gold.variant),
            list(cells_with_gold.accuracy),
            list(cells_with_gold.family_index),
            any_value(cells_with_gold.is_incomplete)
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
        two_way_interval(
            list(sample_index), list(0::bigint), list(is_right_under_all::integer::double), list(0::bigint), false
        ) as under_all,
        two_way_interval(
            list(sample_index), list(0::bigint), list(is_right_under_any::integer::double), list(0::bigint), false
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
        two_way_interval(
            list(sample_index), list(variant), list(invalid_share), list(family_index), any_value(is_incomplete)
        ) as invalid_rate
    from cells
    group by all
),

final as (
    select
        invalids.*,
        sensitivities.sensitivity,
        consistency_rates.consistency_rate,
        consistencies.consistency,
        consistencies_over_wordings.consistency_wordings,
        accuracies.micro_f1,
        accuracies.micro_f1_over_wordings,
        accuracies_unbroken.micro_f1_unbroken,
        sensitivities_unbroken.sensitivity_unbroken,
        shares_right.under_all,
        shares_right.under_any,
        shares_right.n_under_all,
        shares_right.n_under_any
    from invalids
    left join sensitivities using (audit_run_id, model_id, task_id, strategy)
    left join consistency_rates using (audit_run_id, model_id, task_id, strategy)
    left join consistencies using (audit_run_id, model_id, task_id, strategy)
    left join consistencies_over_wordings using (audit_run_id, model_id, task_id, strategy)
    left join accuracies using (audit_run_id, model_id, task_id, strategy)
    left join accuracies_unbroken using (audit_run_id, model_id, task_id, strategy)
    left join sensitivities_unbroken using (audit_run_id, model_id, task_id, strategy)
    left join shares_right using (audit_run_id, model_id, task_id, strategy)
)

select * from final
