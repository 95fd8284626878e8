-- One row per run, model, task, strategy and field of a task of kind extraction, all_fields among them: how often its value is
-- right, and how much it depends on the wording. The value of all_fields is what stands in all of them.
with field_values as {{ of_this_build('fct_field_values', where="answer_status != 'error'") }},

samples as {{ of_this_build('stg_samples') }},

wordings as {{ of_this_build('int_wordings_numbered') }},

annotators as {{ of_this_build('int_annotators', where="scope != 'inter_model'") }},

together as (
    select
        audit_run_id,
        prediction_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        sample_id,
        repetition,
        'all_fields' as field,
        if(any_value(answer_status) = 'valid', to_json(list(value order by field))::varchar, null) as value,
        bool_or(value is null) as is_unread,
        -- without a gold value the wrong answers alone would be known, and count
        if(bool_and(is_correct is not null), bool_and(is_correct), null) as is_correct
    from field_values
    group by all
),

each_and_together as (
    select
        *,
        value is null as is_unread
    from field_values
    union all by name
    select * from together
),

measured as (
    select
        each_and_together.audit_run_id,
        each_and_together.model_id,
        each_and_together.task_id,
        each_and_together.strategy,
        each_and_together.field,
        each_and_together.prompt_variant_id,
        each_and_together.repetition,
        each_and_together.value,
        each_and_together.is_unread,
        each_and_together.is_correct,
        samples.sample_index,
        wordings.wording_index,
        wordings.family_index
    from each_and_together
    inner join wordings
        on
            each_and_together.audit_run_id = wordings.audit_run_id
            and each_and_together.prompt_variant_id = wordings.prompt_variant_id
    inner join samples
        on
            each_and_together.audit_run_id = samples.audit_run_id
            and each_and_together.task_id = samples.task_id
            and each_and_together.sample_id = samples.sample_id
),

counted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        field,
        avg(is_unread::integer) as unread_rate,
        count(distinct sample_index) as n_samples,
        count(distinct prompt_variant_id) as n_variants,
        count(*) as n_predictions
    from measured
    group by all
),

cells as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        field,
        sample_index,
        wording_index,
        any_value(family_index) as family_index,
        avg(is_correct::integer) as accuracy
    from measured
    where is_correct is not null
    group by all
),

accuracies as (
    select
        cells.audit_run_id,
        cells.model_id,
        cells.task_id,
        cells.strategy,
        cells.field,
        try_two_way_interval(
            {{ group_keys('cells') }},
            list(cells.sample_index),
            list(cells.wording_index),
            list(cells.accuracy),
            list(cells.family_index)
        ) as accuracy
    from cells
    group by all
),

annotations as (
    select
        measured.*,
        annotators.scope,
        annotators.group_temperature,
        annotators.annotator,
        annotators.replicate
    from measured
    inner join annotators using (audit_run_id, model_id, prompt_variant_id, repetition)
),

-- an ask of every wording at a time: with all asks in one, repetition noise would count as wordings that differ
values_of_asks as (
    select
        annotations.audit_run_id,
        annotations.model_id,
        annotations.task_id,
        annotations.strategy,
        annotations.field,
        annotations.group_temperature,
        annotations.replicate,
        annotations.sample_index,
        annotations.value,
        count(*) as n_wordings
    from annotations
    where annotations.scope = 'inter'
    group by all
),

shares as (
    select
        * exclude (value),
        sum(n_wordings) over (
            partition by audit_run_id, model_id, task_id, strategy, field, group_temperature, replicate, sample_index
        ) as n_asked
    from values_of_asks
),

asks as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        field,
        sample_index,
        try_normalised_entropy(
            {{ group_keys() }},
            list(n_wordings / n_asked), any_value(n_asked)::integer
        ) as sensitivity
    from shares
    group by audit_run_id, model_id, task_id, strategy, field, group_temperature, replicate, sample_index
),

sensitivities_of_samples as (
    select
        * exclude (sensitivity),
        avg(sensitivity) as sensitivity
    from asks
    where sensitivity is not null
    group by all
),

sensitivities as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        field,
        -- one column a sample: its value is of all wordings already
        try_two_way_interval(
            {{ group_keys() }},
            list(sample_index), list(0), list(sensitivity), list(0)
        ) as sensitivity
    from sensitivities_of_samples
    group by all
),

alphas_of_groups as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        field,
        scope,
        group_temperature,
        unnest(
            try_prompt_stability_of_all(
                {{ group_keys() }},
                list(sample_index), list(annotator), list(replicate), list(coalesce(value, chr(0))), 'nominal'
            )
        ) as point
    from annotations
    group by audit_run_id, model_id, task_id, strategy, field, scope, group_temperature
),

alphas as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        field,
        avg(point.pss) filter (scope = 'intra') as pss_intra,
        avg(point.pss_low) filter (scope = 'intra') as pss_intra_low,
        avg(point.pss_high) filter (scope = 'intra') as pss_intra_high,
        avg(point.pss) filter (scope = 'inter') as pss_inter,
        avg(point.pss_low) filter (scope = 'inter') as pss_inter_low,
        avg(point.pss_high) filter (scope = 'inter') as pss_inter_high
    from alphas_of_groups
    group by all
),

final as (
    select
        counted.audit_run_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        counted.field,
        accuracies.accuracy.mean as accuracy,
        accuracies.accuracy.low as accuracy_low,
        accuracies.accuracy.high as accuracy_high,
        sensitivities.sensitivity.mean as sensitivity,
        sensitivities.sensitivity.low as sensitivity_low,
        sensitivities.sensitivity.high as sensitivity_high,
        alphas.pss_intra,
        alphas.pss_intra_low,
        alphas.pss_intra_high,
        alphas.pss_inter,
        alphas.pss_inter_low,
        alphas.pss_inter_high,
        counted.unread_rate,
        counted.n_samples,
        counted.n_variants,
        counted.n_predictions,
        {{ measure_version() }}
    from counted
    left join accuracies using (audit_run_id, model_id, task_id, strategy, field)
    left join sensitivities using (audit_run_id, model_id, task_id, strategy, field)
    left join alphas using (audit_run_id, model_id, task_id, strategy, field)
)

select * from final
