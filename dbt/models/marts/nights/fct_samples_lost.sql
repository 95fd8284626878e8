-- One row per night, model, task, strategy, measure of right answers and sample that was right in all its asks and is wrong in
-- all since: on every night that tonight knows of before it was lost, and on every one from then on.
with nights as (
    select * from {{ ref('int_nights_in_use') }}
),

kept as (
    select * from {{ ref('int_samples_kept') }}
),

samples as (
    select * from {{ ref('dim_samples') }}
    where {{ in_this_build() }}
),

figures as (
    select * from {{ ref('fct_sample_values') }}
    where measure = 'micro_f1' or starts_with(measure, 'accuracy:')
),

judges_moved as (
    select * from {{ ref('int_judges_moved') }}
),

judges_apart as (
    select * from {{ ref('int_judges_apart') }}
),

known as (
    select
        nights.audit_run_id,
        nights.model_id,
        nights.task_id,
        nights.strategy,
        nights.other_run_id,
        nights.age,
        figures.measure,
        figures.sample_id,
        figures.figure
    from nights
    inner join figures
        on
            nights.other_run_id = figures.audit_run_id
            and nights.model_id = figures.model_id
            and nights.task_id = figures.task_id
            and nights.strategy = figures.strategy
    inner join kept
        on
            nights.audit_run_id = kept.audit_run_id
            and nights.other_run_id = kept.other_run_id
            and nights.task_id = kept.task_id
            and figures.sample_id = kept.sample_id
    anti join judges_moved
        on
            nights.audit_run_id = judges_moved.audit_run_id
            and nights.task_id = judges_moved.task_id
            and {{ is_scored_by('figures.measure', 'judges_moved.scoring_method') }}
    anti join judges_apart
        on
            nights.audit_run_id = judges_apart.audit_run_id
            and nights.other_run_id = judges_apart.other_run_id
            and nights.task_id = judges_apart.task_id
            and {{ is_scored_by('figures.measure', 'judges_apart.scoring_method') }}
),

lost as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        sample_id,
        count(*) filter (figure = 1) as n_nights_right,
        count(*) filter (figure = 0) as n_nights_wrong,
        arg_max(other_run_id, age) filter (figure = 0) as since_run_id
    from known
    group by all
    having
        bool_and(figure = 0 or figure = 1)
        and bool_or(age = 0 and figure = 0)
        and min(age) filter (figure = 1) > max(age) filter (figure = 0)
),

final as (
    select
        lost.*,
        samples.is_critical,
        {{ measure_version() }}
    from lost
    inner join samples using (audit_run_id, task_id, sample_id)
)

select * from final
