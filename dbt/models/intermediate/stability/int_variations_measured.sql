-- One row per run, model, task, strategy and kind of variation, where there are several kinds: sensitivity, consistency and PSS
-- over the original and the variants that differ from it in this kind alone.
with variations as {{ of_this_build('int_variations', where='is_of_original') }},

counted as {{ of_this_build('int_labels_counted') }},

annotators as {{ of_this_build('int_annotators', where="scope = 'inter'") }},

predictions as {{ of_this_build('int_predictions_measured') }},

labels as {{ of_this_build('stg_task_labels') }},

runs as {{ of_this_build('stg_audit_runs') }},

tasks as {{ of_this_build('stg_tasks') }},

classes as {{ classes_of('labels') }},

members as (
    select * from variations
    qualify count(distinct variation) over (partition by audit_run_id, task_id, strategy) > 1
),

answered as (
    select
        counted.*,
        members.variation
    from counted
    inner join members using (audit_run_id, task_id, strategy, prompt_variant_id)
),

asked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        variation,
        sample_index,
        wording_index,
        count(distinct prompt_variant_id) as n_prompt_variants
    from answered
    group by all
),

numbers as (
    select
        *,
        count(*) over (
            partition by audit_run_id, model_id, task_id, strategy, variation, sample_index
        ) as n_wordings
    from asked
),

shares as (
    select
        answered.audit_run_id,
        answered.model_id,
        answered.task_id,
        answered.strategy,
        answered.variation,
        answered.sample_index,
        answered.gold_label,
        answered.wording_index,
        any_value(answered.family_index) as family_index,
        answered.label_index,
        any_value(numbers.n_wordings) as n_wordings,
        sum(answered.p_variant / numbers.n_prompt_variants) as p_wording
    from answered
    inner join numbers
        using (audit_run_id, model_id, task_id, strategy, variation, sample_index, wording_index)
    group by all
),

sensitivities as (
    select
        shares.audit_run_id,
        shares.model_id,
        shares.task_id,
        shares.strategy,
        shares.variation,
        try_sensitivity_interval(
            {{ group_keys('shares') }},
            list(shares.sample_index),
            list(shares.wording_index),
            list(shares.family_index),
            list(shares.label_index),
            list(shares.p_wording),
            any_value(classes.n_classes)
        ) as sensitivity
    from shares
    inner join classes using (audit_run_id, task_id)
    group by all
),

p_taus as (
    select
        shares.audit_run_id,
        shares.model_id,
        shares.task_id,
        shares.strategy,
        shares.variation,
        shares.sample_index,
        gold_labels.label_index as gold_index,
        shares.label_index,
        sum(shares.p_wording / shares.n_wordings) as p_tau
    from shares
    left join labels as gold_labels
        on
            shares.audit_run_id = gold_labels.audit_run_id
            and shares.task_id = gold_labels.task_id
            and shares.gold_label = gold_labels.label
    group by all
),

consistencies as (
    select
        p_taus.audit_run_id,
        p_taus.model_id,
        p_taus.task_id,
        p_taus.strategy,
        p_taus.variation,
        try_consistency(
            {{ group_keys('p_taus') }},
            list(p_taus.gold_index),
            list(p_taus.sample_index),
            list(p_taus.label_index),
            list(p_taus.p_tau),
            any_value(runs.seed),
            any_value(runs.n_resamples)
        ) as consistency
    from p_taus
    inner join runs using (audit_run_id)
    where p_taus.gold_index is not null
    group by all
),

stabilities as (
    select
        annotators.audit_run_id,
        annotators.model_id,
        annotators.task_id,
        annotators.strategy,
        members.variation,
        annotators.group_temperature,
        unnest(
            try_prompt_stability_of_all(
                {{ group_keys('annotators') }},
                list(predictions.sample_index),
                list(annotators.annotator),
                list(annotators.replicate),
                list(predictions.annotation),
                any_value(tasks.level)
            )
        ) as point
    from annotators
    inner join members using (audit_run_id, task_id, strategy, prompt_variant_id)
    inner join predictions using (audit_run_id, model_id, prompt_variant_id, repetition)
    inner join tasks on annotators.audit_run_id = tasks.audit_run_id and annotators.task_id = tasks.task_id
    group by
        annotators.audit_run_id, annotators.model_id, annotators.task_id, annotators.strategy,
        members.variation, annotators.group_temperature
),

stability as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        variation,
        avg(point.pss) as pss_inter,
        avg(point.pss_low) as pss_inter_low,
        avg(point.pss_high) as pss_inter_high
    from stabilities
    group by all
),

final as (
    select
        stability.*,
        sensitivities.sensitivity.mean as sensitivity,
        sensitivities.sensitivity.low as sensitivity_low,
        sensitivities.sensitivity.high as sensitivity_high,
        sensitivities.sensitivity.corrected as sensitivity_corrected,
        sensitivities.sensitivity.corrected_low as sensitivity_corrected_low,
        sensitivities.sensitivity.corrected_high as sensitivity_corrected_high,
        consistencies.consistency.consistency as consistency,
        consistencies.consistency.low as consistency_low,
        consistencies.consistency.high as consistency_high
    from stability
    full join sensitivities using (audit_run_id, model_id, task_id, strategy, variation)
    left join consistencies using (audit_run_id, model_id, task_id, strategy, variation)
)

select * from final
