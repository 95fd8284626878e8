-- One row per run, model, task and strategy: how far labels depend on the wording, with intervals.
with labels as {{ of_this_build('stg_task_labels') }},

families as {{ of_this_build('int_families_shared') }},

labels_counted as {{ of_this_build('int_labels_counted') }},

working as {{ of_this_build('int_wordings_working') }},

grids as {{ of_this_build('int_grids') }},

classes as {{ classes_of('labels') }},

sensitivities as (
    select
        families.audit_run_id,
        families.model_id,
        families.task_id,
        families.strategy,
        try_sensitivity_interval(
            {{ told_as('families') }},
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
broken as {{ of_this_build('int_wordings_working', where='is_breaking') }},

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
        try_sensitivity_interval(
            {{ told_as('unbroken_families') }},
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
        try_consistency_rate(
            {{ told_as('labels_counted') }},
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

final as (
    select
        consistency_rates.*,
        sensitivities.sensitivity,
        sensitivities_unbroken.sensitivity_unbroken
    from consistency_rates
    left join sensitivities using (audit_run_id, model_id, task_id, strategy)
    left join sensitivities_unbroken using (audit_run_id, model_id, task_id, strategy)
)

select * from final
