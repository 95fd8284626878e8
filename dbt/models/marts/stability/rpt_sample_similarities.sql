-- One row per run, model, task, strategy, gold label and sample, of two classes a run and task: how alike the sample is treated
-- to the others. The classes are those of int_samples_shown, one treated least and one treated most alike.
with chosen as {{ of_this_build('int_samples_shown') }},

measured as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        extreme,
        count(distinct sample_index) as n_samples,
        try_consistency(
            {{ group_keys() }},
            list(0), list(sample_index), list(label_index), list(p_tau), any_value(seed), 0
        ) as pairs,
        unnest(try_mean_consistency(
            {{ group_keys() }},
            list(0), list(sample_index), list(label_index), list(p_tau)
        )) as one_of_them
    from chosen
    group by audit_run_id, model_id, task_id, strategy, gold_label, extreme
),

names as (
    select distinct
        audit_run_id,
        task_id,
        sample_index,
        sample_id
    from chosen
),

final as (
    select
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        measured.gold_label,
        measured.extreme,
        names.sample_id,
        measured.one_of_them.mean_consistency as mean_similarity,
        measured.n_samples,
        measured.n_samples * (measured.n_samples - 1) // 2 as n_pairs,
        measured.pairs.consistency_distinct as mean_similarity_of_pairs,
        {{ measure_version() }}
    from measured
    inner join names
        on
            measured.audit_run_id = names.audit_run_id
            and measured.task_id = names.task_id
            and measured.one_of_them.sample = names.sample_index
)

select * from final
