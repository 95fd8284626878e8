-- One row per night, model, task, strategy and measure: how far it lies from normal nights, and what that is called.
-- A measure within an alarm keeps its verdict until the alarm is over, whatever it does tonight.
{%- set least = least_effect('measured.measure', 'nights.min_effect') %}
with streams as {{ all_of('int_streams_adjusted') }},

nights as {{ all_of('int_nights_before') }},

states as {{ of_this_build('rpt_night_states') }},

held_against as {{ all_of('int_newest_normal_nights') }},

moved as {{ all_of('int_answers_moved') }},

judges_moved as {{ all_of('int_judges_moved') }},

every_night as (
    select
        audit_id,
        model_id,
        task_id,
        strategy,
        plan,
        night,
        audit_run_id,
        strftime(started_at, '%-d %b') as day
    from {{ ref('rpt_night_states') }}
),

-- the first night of an alarm that stands or is over with tonight, and the first on which it was much worse
alarms as (
    select
        states.audit_run_id,
        states.audit_id,
        states.model_id,
        states.task_id,
        states.strategy,
        states.plan,
        states.state,
        states.memory,
        coalesce(nights.memory.since, states.memory.since) as since,
        coalesce(nights.memory.worse_since, states.memory.worse_since) as worse_since,
        states.night = states.memory.worse_since as is_worse_tonight,
        held_against.normal_run_id,
        coalesce(held_against.is_pinned, false) as is_pinned
    from states
    inner join nights using (audit_run_id, model_id, task_id, strategy)
    left join held_against using (audit_run_id, model_id, task_id, strategy)
),

named as (
    select
        alarms.* exclude (audit_id, plan),
        firsts.audit_run_id as since_run_id,
        firsts.day as since_day,
        worse.audit_run_id as worse_since_run_id,
        worse.day as worse_day
    from alarms
    left join every_night as firsts
        on
            alarms.audit_id = firsts.audit_id
            and alarms.model_id = firsts.model_id
            and alarms.task_id = firsts.task_id
            and alarms.strategy = firsts.strategy
            and alarms.plan = firsts.plan
            and alarms.since = firsts.night
    left join every_night as worse
        on
            alarms.audit_id = worse.audit_id
            and alarms.model_id = worse.model_id
            and alarms.task_id = worse.task_id
            and alarms.strategy = worse.strategy
            and alarms.plan = worse.plan
            and alarms.worse_since = worse.night
),

alarmed as (
    select
        * exclude (stream),
        stream.measure as measure,
        stream.kind as kind
    from (
        select
            audit_run_id,
            model_id,
            task_id,
            strategy,
            unnest(memory.alarm) as stream
        from named
    ) as alarms
),

-- the names of samples that are lost, of the measure that lost_samples looks at
samples_lost as (
    select
        figures.audit_run_id,
        figures.model_id,
        figures.task_id,
        figures.strategy,
        figures.measure as of_measure,
        figures.sample_id
    from {{ ref('int_values_in_use') }} as figures
    inner join streams using (audit_run_id, model_id, task_id, strategy)
    where
        streams.measure = 'lost_samples'
        and streams.test.carried_by > 0
        and (
            figures.measure = 'micro_f1'
            or (starts_with(figures.measure, 'accuracy:') and not contains(figures.measure, ':judge:'))
        )
    group by all
    having
        max(figures.figure) filter (figures.age < streams.test.span)
        <= avg(figures.figure) filter (figures.is_reference and figures.age >= streams.test.span) - 0.5
),

lost_named as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'lost_samples' as measure,
        array_to_string(list_slice(list(sample_id order by sample_id), 1, 3), ', ') as first_lost
    from samples_lost
    group by audit_run_id, model_id, task_id, strategy, of_measure
    qualify
        row_number() over (
            partition by audit_run_id, model_id, task_id, strategy order by of_measure != 'micro_f1', of_measure
        ) = 1
),

-- what is within an alarm has a row though it could not be tested tonight
measured as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure
    from streams
    where measure != 'label_churn' or test.p_value is not null
    union
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure
    from alarmed
),

judged as (
    select
        measured.*,
        named.* exclude (audit_run_id, model_id, task_id, strategy, memory),
        len(named.memory.good) as n_good,
        coalesce(len(nights.memory.normal), 0) as n_nights_before,
        streams.* exclude (audit_run_id, audit_id, model_id, task_id, strategy, measure, worse, varies, p_value_in_alarm),
        nights.audit_id,
        {{ least }} as min_effect,
        alarmed.kind,
        moved.* exclude (audit_run_id, model_id, task_id, strategy, measure),
        lost_named.first_lost,
        judges_moved.scoring_method as judge,
        coalesce(streams.worse, {{ worse_sign('measured.measure') }}) as worse,
        case
            when judges_moved.scoring_method is not null then 'not_comparable'
            when alarmed.kind is not null then alarmed.kind
            when streams.test.p_value is null or named.state = 'cannot_tell' then 'not_comparable'
            when streams.q_value > {{ suspect_level() }} or abs(streams.test.difference) < {{ least }}
                then 'none_shown'
            when named.state = 'unconfirmed' and streams.q_value <= {{ alarm_level() }} then 'unconfirmed'
            else 'suspect'
        end as verdict
    from measured
    inner join named using (audit_run_id, model_id, task_id, strategy)
    inner join nights using (audit_run_id, model_id, task_id, strategy)
    left join streams using (audit_run_id, model_id, task_id, strategy, measure)
    left join alarmed using (audit_run_id, model_id, task_id, strategy, measure)
    left join moved using (audit_run_id, model_id, task_id, strategy, measure)
    left join lost_named using (audit_run_id, model_id, task_id, strategy, measure)
    left join judges_moved
        on
            measured.audit_run_id = judges_moved.audit_run_id
            and measured.task_id = judges_moved.task_id
            and {{ is_scored_by('measured.measure', 'judges_moved.scoring_method') }}
),

final as (
    select
        audit_run_id,
        audit_id,
        model_id,
        task_id,
        strategy,
        measure,
        coalesce(recent - test.difference, usual) as base,
        coalesce(recent, tonight) as candidate,
        test.difference as difference,
        test.low as difference_low,
        test.high as difference_high,
        test.p_value as p_value,
        q_value,
        n_tests,
        min_effect,
        verdict,
        case
            when coalesce(kind, '') != 'regressed' or worse_since is null or state != 'regressed' then ''
            when is_worse_tonight then 'worse than since ' || since_day || ': '
            else 'since ' || worse_day || ' worse than since ' || since_day || ': '
        end || case
            when verdict = 'not_comparable' and state = 'cannot_tell' then 'too few samples were answered, or asked before'
            when normal_run_id is null then 'no night of this plan before'
            when verdict = 'not_comparable' and judge is not null then judge || ' rules otherwise than on normal nights'
            when verdict = 'not_comparable' and measure = 'lost_samples' and n_nights_before < 3 then 'needs three normal nights'
            when verdict = 'not_comparable' then 'fewer than ten samples to hold against normal nights'
            when test.n_nights is null then 'not measured tonight'
            when kind is not null and state = 'recovering' then 'as before tonight, ' || n_good || ' of 2 good nights'
            when verdict = 'unconfirmed' then 'one odd night of two: not known yet which'
            when test.span >= 4 and test.p_value_tonight > 0.05 and measure != 'lost_samples'
                then 'little by little over ' || test.span || ' nights'
            when test.span > 1 then 'over ' || test.span || ' nights'
            else 'tonight'
        end || case
            when measure = 'lost_samples' and test.carried_by > 0
                then printf(', %d of %d samples that were right are wrong', test.carried_by::integer, test.n_samples)
            when test.n_nights > 0 and {{ is_of_class('measure') }} then ', on ' || test.n_samples || ' samples'
            else ''
        end || case
            when first_lost is null then ''
            when test.carried_by > 3 then ': ' || first_lost || ', …'
            else ': ' || first_lost
        end || case
            when test.n_nights > 0 and is_pinned and measure != 'label_churn' then ', against the pinned night'
            when test.n_nights > 0
                then ', against ' || test.n_nights || if(test.n_nights = 1, ' normal night', ' normal nights')
            else ''
        end as reason,
        test.span as n_nights_told,
        test.n_nights as n_nights_normal,
        test.n_samples as n_samples,
        test.standard_error as standard_error,
        test.spread_factor as spread_factor,
        test.difference_tonight as difference_tonight,
        test.p_value_tonight as p_value_tonight,
        normal_run_id,
        is_pinned,
        if(kind is not null or since is not null, since_run_id, null) as since_run_id,
        if(kind is not null or since is not null, worse_since_run_id, null) as worse_since_run_id,
        moved_gold_label,
        moved_label,
        n_moved,
        n_moved_before,
        n_moved_samples,
        worse,
        {{ measure_version() }}
    from judged
)

select * from final
