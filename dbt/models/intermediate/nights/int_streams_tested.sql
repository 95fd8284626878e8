-- One row per night, model, task, strategy and measure: tonight's values of samples against those of normal nights. Of micro-F1
-- also the samples of each gold label, as `accuracy of` it: of labels with ten samples tonight, the twenty with most of them.
-- And of each wording that breaks tonight, and on none of the last three normal nights, how often it is answered with no label.
with every_night as {{ all_of('int_nights_in_use') }},

nights as {{ all_of('int_nights_in_use', where='is_tested') }},

groups as {{ all_of('int_nights_before') }},

samples as {{ all_of('int_samples_kept') }},

whole as {{ all_of('int_values_in_use') }},

asked as {{ all_of('dim_samples', where='gold_label is not null') }},

by_label as (
    select
        whole.* replace ({{ class_measure('asked.gold_label') }} as measure),
        whole.measure as of_measure
    from whole
    inner join asked
        on
            whole.other_run_id = asked.audit_run_id
            and whole.task_id = asked.task_id
            and whole.sample_id = asked.sample_id
    where whole.measure = 'micro_f1'
),

labels as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure
    from by_label
    where age = 0
    group by audit_run_id, model_id, task_id, strategy, measure
    having count(*) >= 10
    qualify row_number() over (
        partition by audit_run_id, model_id, task_id, strategy order by count(*) desc, measure
    ) <= 20
),

formats as {{ all_of('fct_answer_formats', where='is_breaking') }},

variants as {{ all_of('dim_prompt_variants') }},

answers as {{ all_of('fct_predictions', where="answer_status != 'error'") }},

newest_normal as (
    select * from nights
    where is_normal
    qualify row_number() over (partition by audit_run_id, model_id, task_id, strategy order by age) <= 3
),

broken_before as (
    select distinct
        newest_normal.audit_run_id,
        formats.model_id,
        formats.prompt_variant_id
    from newest_normal
    inner join formats
        on newest_normal.other_run_id = formats.audit_run_id and newest_normal.model_id = formats.model_id
),

alarmed as (
    select
        * exclude (stream),
        stream.measure as measure
    from (
        select
            audit_run_id,
            model_id,
            task_id,
            strategy,
            unnest(memory.alarm) as stream
        from groups
    ) as alarms
),

wordings as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        variants.prompt_variant_id,
        {{ wording_measure('variants') }} as measure
    from groups
    inner join variants using (audit_run_id, task_id, strategy)
    left join alarmed
        on
            groups.audit_run_id = alarmed.audit_run_id
            and groups.model_id = alarmed.model_id
            and groups.task_id = alarmed.task_id
            and groups.strategy = alarmed.strategy
            and {{ wording_measure('variants') }} = alarmed.measure
    left join formats
        on
            groups.audit_run_id = formats.audit_run_id
            and groups.model_id = formats.model_id
            and variants.prompt_variant_id = formats.prompt_variant_id
    left join broken_before
        on
            groups.audit_run_id = broken_before.audit_run_id
            and groups.model_id = broken_before.model_id
            and variants.prompt_variant_id = broken_before.prompt_variant_id
    where
        alarmed.measure is not null
        or (formats.prompt_variant_id is not null and broken_before.prompt_variant_id is null)
    group by all
),

by_wording as (
    select
        every_night.* exclude (is_normal, is_pinned),
        wordings.measure,
        'invalid_rate' as of_measure,
        samples.sample_id,
        samples.sample_index,
        samples.cluster_index,
        avg((answers.label is null)::integer)::double as figure
    from wordings
    inner join every_night using (audit_run_id, model_id, task_id, strategy)
    inner join answers
        on
            every_night.other_run_id = answers.audit_run_id
            and every_night.model_id = answers.model_id
            and wordings.prompt_variant_id = answers.prompt_variant_id
    inner join samples
        on
            every_night.audit_run_id = samples.audit_run_id
            and every_night.other_run_id = samples.other_run_id
            and every_night.task_id = samples.task_id
            and answers.sample_id = samples.sample_id
    group by all
),

in_use as (
    select
        *,
        measure as of_measure
    from whole
    union all by name
    select * from by_wording
    union all by name
    select by_label.* from by_label
    semi join labels using (audit_run_id, model_id, task_id, strategy, measure)
),

used as (
    select * from in_use
    where is_tested
),

apart as {{ all_of('fct_nights_apart') }},

normal as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        list(age) filter (is_normal) as normal_ages,
        list(age) filter (is_pinned) as pinned_ages
    from nights
    group by all
),

asked_tonight as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure
    from used
    where age = 0
),

by_measure as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        of_measure,
        -- in one order, so that sums come out alike whenever they are made
        list(age order by age, sample_index) as ages,
        list(sample_index order by age, sample_index) as samples,
        list(cluster_index order by age, sample_index) as clusters,
        list(figure order by age, sample_index) as figures,
        avg(figure) filter (age = 0) as tonight,
        avg(figure) filter (is_reference) as usual,
        count(distinct hash(sample_index, round(figure, 9))) > count(distinct sample_index) as varies
    from used
    group by all
),

-- how far normal nights lie apart, of all groups together
spreads as (
    select
        by_measure.audit_run_id,
        by_measure.model_id,
        by_measure.task_id,
        by_measure.strategy,
        by_measure.measure,
        try_night_spread(
            {{ group_keys('by_measure', is_row=true) }},
            by_measure.ages, by_measure.samples, by_measure.clusters, by_measure.figures, normal.normal_ages
        ) as spread
    from by_measure
    inner join normal using (audit_run_id, model_id, task_id, strategy)
    where by_measure.measure = by_measure.of_measure
),

spreads_shared as (
    select
        audit_run_id,
        measure,
        coalesce(sum(spread.q order by model_id, task_id, strategy), 0) as shared_q,
        coalesce(sum(spread.n_pairs), 0)::integer as shared_pairs
    from spreads
    group by all
),

between_nights as (
    select
        first.audit_run_id,
        first.model_id,
        first.task_id,
        first.strategy,
        first.age,
        second.age as other_age,
        samples.sample_index,
        samples.cluster_index,
        apart.apart
    from nights as first
    inner join apart
        on
            first.other_run_id = apart.audit_run_id
            and first.model_id = apart.model_id
            and first.task_id = apart.task_id
            and first.strategy = apart.strategy
    inner join nights as second
        on
            first.audit_run_id = second.audit_run_id
            and apart.other_run_id = second.other_run_id
            and first.model_id = second.model_id
            and first.task_id = second.task_id
            and first.strategy = second.strategy
    inner join samples
        on
            first.audit_run_id = samples.audit_run_id
            and second.other_run_id = samples.other_run_id
            and first.task_id = samples.task_id
            and apart.sample_id = samples.sample_id
),

by_group as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        list(age order by age, other_age, sample_index) as ages,
        list(other_age order by age, other_age, sample_index) as other_ages,
        list(sample_index order by age, other_age, sample_index) as samples,
        list(cluster_index order by age, other_age, sample_index) as clusters,
        list(apart order by age, other_age, sample_index) as figures,
        avg(apart) filter (age = 0 and other_age > 0) as tonight,
        avg(apart) filter (age > 0 and other_age > 0) as usual,
        max(apart) > 1e-9 as varies
    from between_nights
    group by all
),

-- an alarm's bad nights, in the place of normal ones
in_alarms as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        list(age order by age, sample_index) as ages,
        list(sample_index order by age, sample_index) as samples,
        list(cluster_index order by age, sample_index) as clusters,
        list(figure order by age, sample_index) as figures,
        list_sort(list(distinct age) filter (age > 0)) as alarm_ages
    from in_use
    where age = 0 or not is_tested
    group by all
    having bool_or(not is_tested)
),

tested_in_alarms as (
    select
        in_alarms.audit_run_id,
        in_alarms.model_id,
        in_alarms.task_id,
        in_alarms.strategy,
        in_alarms.measure,
        try_window_test(
            {{ group_keys('in_alarms', is_row=true) }},
            in_alarms.ages, in_alarms.samples, in_alarms.clusters, in_alarms.figures, in_alarms.alarm_ages,
            null::bigint[], if({{ is_of_wording('in_alarms.measure') }}, 1, groups.n_wordings)::integer,
            {{ is_rate('in_alarms.measure') }},
            0::double, 0::integer, 0::double, 0::integer
        ).p_value_tonight as p_value_in_alarm
    from in_alarms
    inner join groups using (audit_run_id, model_id, task_id, strategy)
),

-- what lost samples are looked for in: one measure of right answers a group, and no judge's
right_answers as (
    select * from by_measure
    where measure = 'micro_f1' or (starts_with(measure, 'accuracy:') and not contains(measure, ':judge:'))
    qualify
        row_number() over (
            partition by audit_run_id, model_id, task_id, strategy order by measure != 'micro_f1', measure
        ) = 1
),

tested as (
    select
        by_measure.* exclude (of_measure, samples, clusters),
        try_window_test(
            {{ group_keys('by_measure', is_row=true) }},
            by_measure.ages, by_measure.samples, by_measure.clusters, by_measure.figures, normal.normal_ages,
            normal.pinned_ages, if({{ is_of_wording('by_measure.measure') }}, 1, groups.n_wordings)::integer,
            {{ is_rate('by_measure.measure') }},
            coalesce(spreads.spread.q, 0), coalesce(spreads.spread.n_pairs, 0), shared.shared_q, shared.shared_pairs
        ) as test
    from by_measure
    semi join asked_tonight using (audit_run_id, model_id, task_id, strategy, measure)
    inner join normal using (audit_run_id, model_id, task_id, strategy)
    inner join groups using (audit_run_id, model_id, task_id, strategy)
    inner join spreads
        on
            by_measure.audit_run_id = spreads.audit_run_id
            and by_measure.model_id = spreads.model_id
            and by_measure.task_id = spreads.task_id
            and by_measure.strategy = spreads.strategy
            and by_measure.of_measure = spreads.measure
    inner join spreads_shared as shared
        on by_measure.audit_run_id = shared.audit_run_id and by_measure.of_measure = shared.measure
    union all by name
    select
        right_answers.* exclude (of_measure, samples, clusters) replace ('lost_samples' as measure),
        try_lost_samples_test(
            {{ group_keys('right_answers', is_row=true) }},
            right_answers.ages, right_answers.samples, right_answers.figures, normal.normal_ages, normal.pinned_ages
        ) as test
    from right_answers
    semi join asked_tonight using (audit_run_id, model_id, task_id, strategy, measure)
    inner join normal using (audit_run_id, model_id, task_id, strategy)
    union all by name
    select
        by_group.* exclude (ages, other_ages, samples, clusters, figures),
        'label_churn' as measure,
        try_churn_test(
            {{ group_keys('by_group', is_row=true) }},
            by_group.ages, by_group.other_ages, by_group.samples, by_group.clusters, by_group.figures,
            normal.normal_ages, groups.n_wordings::integer, groups.min_effect
        ) as test
    from by_group
    inner join normal using (audit_run_id, model_id, task_id, strategy)
    inner join groups using (audit_run_id, model_id, task_id, strategy)
),

final as (
    select
        tested.* exclude (ages, figures),
        tested_in_alarms.p_value_in_alarm,
        groups.audit_id,
        -- the mean of the nights of the test, which is tonight's where it alone is; of samples that are lost, and of answers
        -- that are otherwise, what is usual and the difference
        if(
            tested.measure in ('lost_samples', 'label_churn') and tested.test.p_value is not null,
            tested.usual + tested.test.difference,
            coalesce(
                list_avg(list_transform(
                    list_filter(list_zip(tested.ages, tested.figures), lambda entry: entry[1] < tested.test.span),
                    lambda entry: entry[2]
                )),
                tested.tonight
            )
        ) as recent,
        -- a judge that rules as is known more often than before has changed all the same
        if(
            tested.measure = 'judge_agreement' and tested.test.difference > 0,
            0,
            {{ worse_sign('tested.measure') }}
        ) as worse
    from tested
    inner join groups using (audit_run_id, model_id, task_id, strategy)
    left join tested_in_alarms using (audit_run_id, model_id, task_id, strategy, measure)
    -- answers are held against three normal nights before the last two; within an alarm tonight is known without a test
    where tested.measure != 'label_churn' or tested.test.p_value is not null or tested.test.difference_tonight is not null
)

select * from final
