-- One row per night, model, task, strategy, measure, night in use and sample that both asked: what the sample adds to it then.
-- What a judge scored on a night on which it was another one is left out.
with nights as {{ all_of('int_nights_in_use') }},

samples as {{ all_of('int_samples_kept') }},

figures as {{ all_of('fct_sample_values') }},

judges_apart as {{ all_of('int_judges_apart') }},

final as (
    select
        nights.audit_run_id,
        nights.model_id,
        nights.task_id,
        nights.strategy,
        nights.other_run_id,
        nights.age,
        nights.is_reference,
        nights.is_tested,
        figures.measure,
        samples.sample_id,
        samples.sample_index,
        samples.cluster_index,
        figures.figure
    from nights
    inner join figures
        on
            nights.other_run_id = figures.audit_run_id
            and nights.model_id = figures.model_id
            and nights.task_id = figures.task_id
            and nights.strategy = figures.strategy
    inner join samples
        on
            nights.audit_run_id = samples.audit_run_id
            and nights.other_run_id = samples.other_run_id
            and figures.task_id = samples.task_id
            and figures.sample_id = samples.sample_id
    anti join judges_apart
        on
            nights.audit_run_id = judges_apart.audit_run_id
            and nights.other_run_id = judges_apart.other_run_id
            and nights.task_id = judges_apart.task_id
            and {{ is_scored_by('figures.measure', 'judges_apart.scoring_method') }}
)

select * from final
