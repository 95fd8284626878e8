-- One row per run, model, prompt variant and repetition that was planned: what became of its answers.
with planned as {{ of_this_build('int_cells_planned') }},

predictions as {{ of_this_build('int_predictions_labelled') }},

counted as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        repetition,
        count(*) as n_landed,
        count(*) filter (answer_status = 'valid') as n_valid,
        count(*) filter (answer_status = 'empty') as n_empty,
        count(*) filter (answer_status = 'truncated') as n_truncated,
        count(*) filter (answer_status = 'refused') as n_refused,
        count(*) filter (answer_status = 'unparsed') as n_unparsed,
        count(*) filter (answer_status = 'error') as n_error,
        count(distinct completion_md5) as n_distinct_completions
    from predictions
    group by all
),

final as (
    select
        planned.* exclude (is_partial),
        coalesce(counted.n_landed, 0) as n_landed,
        planned.n_planned - coalesce(counted.n_landed, 0) as n_missing,
        coalesce(counted.n_valid, 0) as n_valid,
        coalesce(counted.n_empty, 0) as n_empty,
        coalesce(counted.n_truncated, 0) as n_truncated,
        coalesce(counted.n_refused, 0) as n_refused,
        coalesce(counted.n_unparsed, 0) as n_unparsed,
        coalesce(counted.n_error, 0) as n_error,
        (counted.n_landed - counted.n_error - counted.n_valid)
        / nullif(counted.n_landed - counted.n_error, 0) as invalid_rate,
        coalesce(counted.n_distinct_completions, 0) as n_distinct_completions
    from planned
    left join counted using (audit_run_id, model_id, prompt_variant_id, repetition)
)

select * from final
