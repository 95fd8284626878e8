-- One row per run, model, task and strategy that lacks answers to some of its asks: its measures with all missing asks counted as
-- N/A, and with all of them counted as the label that the sample got most often.
with completed as {{ of_this_build('int_labels_completed') }},

labels as {{ of_this_build('stg_task_labels') }},

classes as {{ classes_of('labels') }},

with_gold as (
    select
        completed.*,
        labels.label_index as gold_index
    from completed
    left join labels
        on
            completed.audit_run_id = labels.audit_run_id
            and completed.task_id = labels.task_id
            and completed.gold_label = labels.label
),

rates as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        counted_as,
        coalesce(sum(p_variant) filter (label_index = gold_index), 0)
        / sum(p_variant) filter (gold_label is not null) as micro_f1,
        coalesce(sum(n_answers) filter (label_index = -1), 0) / sum(n_answers) as invalid_rate
    from with_gold
    group by all
),

p_taus as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        counted_as,
        n_wordings,
        sample_index,
        gold_index,
        label_index,
        sum(p_tau_part) as p_tau
    from with_gold
    group by all
),

samples as (
    select
        p_taus.audit_run_id,
        p_taus.model_id,
        p_taus.task_id,
        p_taus.strategy,
        p_taus.counted_as,
        p_taus.sample_index,
        case
            when p_taus.n_wordings >= 2 then try_normalised_entropy(
                {{ group_keys('p_taus') }},
                list(p_taus.p_tau), any_value(classes.n_classes)
            )
        end as sensitivity
    from p_taus
    inner join classes using (audit_run_id, task_id)
    group by
        p_taus.audit_run_id,
        p_taus.model_id,
        p_taus.task_id,
        p_taus.strategy,
        p_taus.counted_as,
        p_taus.sample_index,
        p_taus.n_wordings
),

sensitivities as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        counted_as,
        avg(sensitivity) as sensitivity
    from samples
    group by all
),

-- the figure alone: without a seed nothing is resampled
consistencies as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        counted_as,
        try_consistency(
            {{ group_keys() }},
            list(gold_index),
            list(sample_index),
            list(nullif(label_index, -1)),
            list(p_tau),
            null::bigint,
            null::integer
        ) as pooled
    from p_taus
    where gold_index is not null
    group by all
),

figures as (
    select
        rates.*,
        sensitivities.sensitivity,
        consistencies.pooled.consistency as consistency
    from rates
    left join sensitivities using (audit_run_id, model_id, task_id, strategy, counted_as)
    left join consistencies using (audit_run_id, model_id, task_id, strategy, counted_as)
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        {%- for measure in ['sensitivity', 'consistency', 'micro_f1', 'invalid_rate'] %}
            {%- for counted_as in ['na', 'modal'] %}
                any_value({{ measure }}) filter (counted_as = '{{ counted_as }}')
                    as {{ measure }}_if_missing_{{ counted_as }},
            {%- endfor %}
        {%- endfor %}
        strategy
    from figures
    group by all
)

select * from final
