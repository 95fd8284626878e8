-- One row per run, model, task, strategy, measure and sample that counts: what the sample adds to the measure tonight.
-- Of a judge one row per anchor, and per answer that it ruled on.
-- A sample counts where nine in ten of its planned cells were answered, and under all its wordings where the measure is of those.
with samples as {{ of_this_build('int_samples_landed') }},

found as (
    select
        *,
        false as needs_all_wordings
    from {{ ref('int_values_of_answers') }}
    union all by name
    select
        *,
        measure like 'accuracy_std:%' as needs_all_wordings
    from {{ ref('int_values_of_scores') }}
    union all by name
    select
        *,
        measure != 'pss_intra' as needs_all_wordings
    from {{ ref('int_values_of_samples') }}
),

judged as {{ all_of('int_values_of_judges') }},

final as (
    select
        found.audit_run_id,
        found.model_id,
        found.task_id,
        found.strategy,
        found.measure,
        samples.sample_id,
        found.figure::double as figure,
        {{ measure_version() }}
    from found
    inner join samples using (audit_run_id, model_id, task_id, strategy, sample_index)
    where
        samples.is_counted
        and (samples.has_all_wordings or not found.needs_all_wordings)
    union all by name
    select
        * replace (figure::double as figure),
        {{ measure_version() }}
    from judged
)

select * from final
