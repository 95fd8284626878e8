-- One row per run, model, task, strategy, scope, series, annotation filter, paraphrase temperature and number of annotators.
{%- set valid = "if(tasks.level = 'nominal', list_transform(lists.annotations, lambda a: nullif(a, '-1')), lists.annotations)" %}
{%- set has_na = "tasks.level = 'nominal' and list_contains(lists.annotations, '-1')" %}
{%- set filters = [
    ('verbatim', 'lists.completions', "'nominal'", false, 'true'),
    ('labels_and_na', 'lists.annotations', 'tasks.level', false, has_na),
    ('valid', valid, 'tasks.level', false, 'true'),
    ('valid_balanced', valid, 'tasks.level', true, 'true'),
] %}
with annotators as {{ of_this_build('int_annotators') }},

tasks as {{ of_this_build('stg_tasks') }},

runs as {{ of_this_build('stg_audit_runs') }},

-- a filter at a time: the lists are as long as a run has answers, and side by side they would lie in memory three times
measured as (
    {%- for filter, labels, level, is_balanced, condition in filters %}
        select
            lists.audit_run_id,
            lists.scope,
            lists.model_id,
            lists.task_id,
            lists.strategy,
            lists.paraphrase_temperature,
            '{{ filter }}' as annotation_filter,
            {{ has_na }} as has_na,
            unnest(
                try_prompt_stability(
                    {{ group_keys('lists', is_row=true) }},
                    lists.samples,
                    lists.annotators,
                    lists.families,
                    lists.replicates,
                    {{ labels }},
                    {{ level }},
                    {{ is_balanced }},
                    runs.seed,
                    runs.n_resamples
                )
            ) as point
        from {{ of_this_build('int_annotations_listed') }} as lists
        inner join tasks using (audit_run_id, task_id)
        inner join runs using (audit_run_id)
        where {{ condition }}
        {{ 'union all' if not loop.last }}
    {%- endfor %}
),

-- where no answer is N/A, or N/A has no place on the scale, these are the valid ones
every_filter as (
    select * from measured
    union all by name
    select * replace ('labels_and_na' as annotation_filter)
    from measured
    where annotation_filter = 'valid' and not has_na
),

wordings as (
    select distinct
        audit_run_id,
        scope,
        group_model_id,
        task_id,
        strategy,
        group_temperature,
        n_annotators,
        n_wordings_adjacent,
        n_wordings_cumulative
    from annotators
),

final as (
    select
        every_filter.audit_run_id,
        every_filter.model_id,
        every_filter.task_id,
        every_filter.strategy,
        every_filter.scope,
        every_filter.point.series as series,
        every_filter.annotation_filter,
        every_filter.paraphrase_temperature,
        every_filter.point.n_annotators as n_annotators,
        every_filter.point.pss as pss,
        every_filter.point.pss_low as pss_low,
        every_filter.point.pss_high as pss_high,
        every_filter.point.pss_boot_low as pss_boot_low,
        every_filter.point.pss_boot_high as pss_boot_high,
        every_filter.point.pss_cell_low as pss_cell_low,
        every_filter.point.pss_cell_high as pss_cell_high,
        every_filter.point.pss_z_low as pss_z_low,
        every_filter.point.pss_z_high as pss_z_high,
        if(every_filter.scope in ('inter', 'inter_same_meaning'), every_filter.point.pss_wordings_low, null)
            as pss_wordings_low,
        if(every_filter.scope in ('inter', 'inter_same_meaning'), every_filter.point.pss_wordings_high, null)
            as pss_wordings_high,
        every_filter.point.is_degenerate as is_degenerate,
        every_filter.point.n_samples as n_samples,
        every_filter.point.n_annotations as n_annotations,
        if(every_filter.point.series = 'adjacent', wordings.n_wordings_adjacent, wordings.n_wordings_cumulative)
            as n_distinct_wordings,
        {{ measure_version() }}
    from every_filter
    left join wordings
        on
            every_filter.audit_run_id = wordings.audit_run_id
            and every_filter.scope = wordings.scope
            and every_filter.model_id is not distinct from wordings.group_model_id
            and every_filter.task_id = wordings.task_id
            and every_filter.strategy = wordings.strategy
            and every_filter.paraphrase_temperature is not distinct from wordings.group_temperature
            and every_filter.point.n_annotators = wordings.n_annotators
)

select * from final
