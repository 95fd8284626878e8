-- One row per night, model, task, strategy, measure of right answers and sample that was right in all its asks and is wrong in
-- all since: on every night that tonight knows of before it was lost, and on every one from then on.
with figures as {{ all_of('int_values_in_use', where="measure = 'micro_f1' or starts_with(measure, 'accuracy:')") }},

samples as {{ of_this_build('dim_samples') }},

judges_moved as {{ all_of('int_judges_moved') }},

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
    from figures
    anti join judges_moved
        on
            figures.audit_run_id = judges_moved.audit_run_id
            and figures.task_id = judges_moved.task_id
            and {{ is_scored_by('figures.measure', 'judges_moved.scoring_method') }}
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
