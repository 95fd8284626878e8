-- One row per run, model, task and strategy that was asked under wordings made at several temperatures: how PSS changes with it.
-- Its p-value is adjusted for all groups of the run (Benjamini and Hochberg).
with annotators as {{ of_this_build('int_annotators', where="scope = 'inter' and group_temperature is not null") }},

measured as {{ of_this_build('int_predictions_measured') }},

samples as {{ of_this_build('stg_samples') }},

tasks as {{ of_this_build('stg_tasks') }},

runs as {{ of_this_build('stg_audit_runs') }},

clustered as {{ samples_clustered('samples') }},

listed as (
    select
        annotators.audit_run_id,
        annotators.group_model_id as model_id,
        annotators.task_id,
        annotators.strategy,
        list(annotators.group_temperature) as temperatures,
        list(measured.sample_index) as samples,
        list(annotators.annotator) as annotators,
        list(annotators.replicate) as replicates,
        list(measured.annotation) as annotations,
        list(clustered.cluster_index) as clusters
    from annotators
    inner join measured using (audit_run_id, model_id, prompt_variant_id, repetition)
    inner join clustered
        on
            measured.audit_run_id = clustered.audit_run_id
            and measured.task_id = clustered.task_id
            and measured.sample_index = clustered.sample_index
    group by all
),

traced as (
    select
        listed.audit_run_id,
        listed.model_id,
        listed.task_id,
        listed.strategy,
        try_stability_trend(
            {{ group_keys('listed', is_row=true) }},
            listed.temperatures,
            listed.samples,
            listed.annotators,
            listed.replicates,
            listed.annotations,
            listed.clusters,
            tasks.level
        ) as found
    from listed
    inner join tasks using (audit_run_id, task_id)
),

tested as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        found.p_value as p_value
    from traced
    where found.p_value is not null
),

adjusted as (
    {{ benjamini_hochberg('tested', family='audit_run_id') }}
),

judged as (
    select
        traced.audit_run_id,
        traced.model_id,
        traced.task_id,
        traced.strategy,
        traced.found,
        adjusted.q_value,
        difference_verdict(
            traced.found.difference,
            traced.found.low,
            traced.found.high,
            adjusted.q_value,
            {{ smallest_effect('runs.card') }},
            -1,
            false,
            false
        ) as verdict
    from traced
    inner join runs using (audit_run_id)
    left join adjusted using (audit_run_id, model_id, task_id, strategy)
    where traced.found.n_temperatures >= 2
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        found.difference as difference,
        found.low as difference_low,
        found.high as difference_high,
        found.p_value as p_value,
        q_value,
        case
            when found.reason is not null then 'not_comparable'
            when verdict = 'regressed' then 'falls'
            when verdict = 'improved' then 'rises'
            else verdict
        end as verdict,
        found.reason as reason,
        found.n_temperatures as n_temperatures,
        found.n_samples as n_samples,
        {{ measure_version() }}
    from judged
)

select * from final
