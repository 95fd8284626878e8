-- One row per run, model, task, strategy, gold label and pair of samples that are shown: how alike the two are treated.
with chosen as {{ of_this_build('int_samples_shown') }},

paired as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        extreme,
        unnest(try_sample_pairs(
            {{ group_keys() }},
            list(sample_index), list(label_index), list(p_tau)
        )) as pair
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
        paired.audit_run_id,
        paired.model_id,
        paired.task_id,
        paired.strategy,
        paired.gold_label,
        paired.extreme,
        names.sample_id,
        others.sample_id as other_sample_id,
        paired.pair.place as place,
        paired.pair.other_place as other_place,
        paired.pair.similarity as similarity,
        {{ measure_version() }}
    from paired
    inner join names
        on
            paired.audit_run_id = names.audit_run_id
            and paired.task_id = names.task_id
            and paired.pair.sample = names.sample_index
    inner join names as others
        on
            paired.audit_run_id = others.audit_run_id
            and paired.task_id = others.task_id
            and paired.pair.other_sample = others.sample_index
)

select * from final
