-- One row per night, model, task, strategy, measure of right answers and sample that is lost: right before some night, and wrong
-- on it and on all since, under so many wordings that chance seldom makes one of all samples so. Beside them samples that were
-- right in all their asks and are wrong in all since, of which that is not known yet.
with figures as {{ all_of('int_values_in_use', where="measure = 'micro_f1' or starts_with(measure, 'accuracy:')") }},

samples as {{ of_this_build('dim_samples') }},

judges_moved as {{ all_of('int_judges_moved') }},

dropped as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        sample_id,
        bool_and(figure = 0 or figure = 1)
        and min(age) filter (figure = 1) > max(age) filter (figure = 0) as is_wrong_in_all,
        count(*) filter (figure = 1) as n_nights_right,
        count(*) filter (figure = 0) as n_nights_wrong
    from figures
    anti join judges_moved
        on
            figures.audit_run_id = judges_moved.audit_run_id
            and figures.task_id = judges_moved.task_id
            and {{ is_scored_by('figures.measure', 'judges_moved.scoring_method') }}
    group by all
    -- what is right less often by a half is at most so tonight
    having bool_or(age = 0 and figure <= 0.5) and max(figure) >= 0.5
),

n_samples as (
    select
        audit_run_id,
        task_id,
        count(*) as n_samples
    from samples
    group by all
),

asked as (
    select
        dropped.audit_run_id,
        dropped.model_id,
        dropped.task_id,
        dropped.strategy,
        dropped.measure,
        dropped.sample_id,
        figures.age,
        figures.other_run_id
    from dropped
    inner join figures using (audit_run_id, model_id, task_id, strategy, measure, sample_id)
),

said as (
    select
        audit_run_id as other_run_id,
        model_id,
        task_id,
        strategy,
        'micro_f1' as measure,
        sample_id,
        prompt_variant_id,
        is_correct::integer::double as worth
    from {{ ref('fct_predictions') }}
    where
        is_correct is not null
        and sample_id in (select sample_id from asked)
        and audit_run_id in (select other_run_id from asked)
    union all
    select
        audit_run_id as other_run_id,
        model_id,
        task_id,
        strategy,
        'accuracy:' || scoring_method as measure,
        sample_id,
        prompt_variant_id,
        coalesce(is_correct::integer::double, score, 0) as worth
    from {{ ref('fct_scores') }}
    where
        not {{ is_missing_score('unscored_kind') }}
        and scoring_method not in ('label_match', 'people')
        and sample_id in (select sample_id from asked)
        and audit_run_id in (select other_run_id from asked)
),

by_wording as (
    select
        asked.audit_run_id,
        asked.model_id,
        asked.task_id,
        asked.strategy,
        asked.measure,
        asked.sample_id,
        asked.age,
        said.prompt_variant_id,
        avg(said.worth) as share_right
    from asked
    inner join said using (other_run_id, model_id, task_id, strategy, measure, sample_id)
    group by all
),

numbered as (
    select
        *,
        (dense_rank() over (partition by audit_run_id, task_id order by prompt_variant_id))::integer as wording
    from by_wording
),

tested as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        sample_id,
        try_lost_sample_test(
            {{ group_keys('numbered') }},
            list(age::integer order by age, wording), list(wording order by age, wording), list(share_right order by age, wording)
        ) as test
    from numbered
    group by all
),

decided as (
    select
        dropped.audit_run_id,
        dropped.model_id,
        dropped.task_id,
        dropped.strategy,
        dropped.measure,
        dropped.sample_id,
        coalesce(tested.test.p_value <= {{ alarm_level() }} / n_samples.n_samples, false) as is_lost,
        tested.test.p_value as p_value,
        if(is_lost, tested.test.n_nights_right, dropped.n_nights_right)::bigint as n_nights_right,
        if(is_lost, tested.test.n_nights_wrong, dropped.n_nights_wrong)::bigint as n_nights_wrong,
        if(is_lost, tested.test.n_wordings, null)::integer as n_wordings,
        dropped.is_wrong_in_all
    from dropped
    left join tested using (audit_run_id, model_id, task_id, strategy, measure, sample_id)
    inner join n_samples using (audit_run_id, task_id)
),

sinces as (
    select
        decided.*,
        asked.other_run_id as since_run_id
    from decided
    inner join asked using (audit_run_id, model_id, task_id, strategy, measure, sample_id)
    where decided.is_lost or coalesce(decided.is_wrong_in_all, false)
    qualify
        row_number() over (
            partition by audit_run_id, model_id, task_id, strategy, measure, sample_id order by asked.age
        ) = decided.n_nights_wrong
),

final as (
    select
        sinces.audit_run_id,
        sinces.model_id,
        sinces.task_id,
        sinces.strategy,
        sinces.measure,
        sinces.sample_id,
        sinces.n_nights_right,
        sinces.n_nights_wrong,
        sinces.since_run_id,
        sinces.is_lost,
        sinces.p_value,
        sinces.n_wordings,
        samples.is_critical,
        {{ measure_version() }}
    from sinces
    inner join samples using (audit_run_id, task_id, sample_id)
)

select * from final
