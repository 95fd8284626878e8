-- One row per run, model, task and strategy: how far labels depend on the wording, with intervals.
with labels as {{ of_this_build('stg_task_labels') }},

wordings as {{ of_this_build('int_wordings_shared') }},

labels_counted as {{ of_this_build('int_labels_counted') }},

working as {{ of_this_build('int_wordings_working') }},

classes as {{ classes_of('labels') }},

-- of groups of which some variant breaks, the same without it; and of those whose rewordings were ruled on, of what asks the same
broken as {{ of_this_build('int_wordings_working', where='is_breaking') }},

ruled as {{ of_this_build('int_wordings_ruled', where='asks_the_same') }},

unbroken as (
    select labels_counted.*
    from labels_counted
    semi join broken using (audit_run_id, model_id, task_id, strategy)
    inner join working using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    where not working.is_breaking
),

same_meaning as (
    select labels_counted.*
    from labels_counted
    semi join ruled using (audit_run_id, prompt_variant_id)
),

{%- for kept in ['unbroken', 'same_meaning'] %}

    {{ kept }}_wordings as (
        select
            audit_run_id,
            model_id,
            task_id,
            strategy,
            sample_index,
            wording_index,
            any_value(family_index) as family_index,
            label_index,
            sum(p_variant) / any_value(n_variants_of_wording) as p_wording
        from (
            select
                *,
                count(distinct prompt_variant_id) over (
                    partition by audit_run_id, model_id, task_id, strategy, sample_index, wording_index
                ) as n_variants_of_wording
            from {{ kept }}
        ) as counted
        group by all
    ),
{%- endfor %}

{%- for wordings, suffix in [
    ('wordings', ''), ('unbroken_wordings', '_unbroken'), ('same_meaning_wordings', '_same_meaning')
] %}

    sensitivities{{ suffix }} as (
        select
            wordings.audit_run_id,
            wordings.model_id,
            wordings.task_id,
            wordings.strategy,
            try_sensitivity_interval(
                {{ group_keys('wordings') }},
                list(wordings.sample_index),
                list(wordings.wording_index),
                list(wordings.family_index),
                list(wordings.label_index),
                list(wordings.p_wording),
                any_value(classes.n_classes)
            ) as sensitivity{{ suffix }}
        from {{ wordings }} as wordings
        inner join classes using (audit_run_id, task_id)
        group by all
    ),
{%- endfor %}

-- equal wordings are counted, never merged: 1 - D_variant of int_disagreements
variants as {{ variants_numbered('labels_counted') }},

consistency_rates as (
    select
        labels_counted.audit_run_id,
        labels_counted.model_id,
        labels_counted.task_id,
        labels_counted.strategy,
        try_consistency_rate(
            {{ group_keys('labels_counted') }},
            list(labels_counted.sample_index),
            list(variants.variant),
            list(labels_counted.family_index),
            list(labels_counted.label_index),
            list(labels_counted.p_variant)
        ) as consistency_rate
    from labels_counted
    inner join variants using (audit_run_id, task_id, strategy, prompt_variant_id)
    group by all
),

final as (
    select
        consistency_rates.*,
        sensitivities.sensitivity,
        sensitivities_unbroken.sensitivity_unbroken,
        sensitivities_same_meaning.sensitivity_same_meaning
    from consistency_rates
    left join sensitivities using (audit_run_id, model_id, task_id, strategy)
    left join sensitivities_unbroken using (audit_run_id, model_id, task_id, strategy)
    left join sensitivities_same_meaning using (audit_run_id, model_id, task_id, strategy)
)

select * from final
