-- One row per run, model, task, strategy, scope, series, annotation filter, paraphrase temperature and number of annotators.
{%- set filters = [
    ('verbatim', 'completions', "'nominal'", false),
    ('valid', 'annotations', 'tasks.level', false),
    ('valid_balanced', 'annotations', 'tasks.level', true),
] %}
with annotators as {{ of_this_build('int_annotators') }},

tasks as {{ of_this_build('stg_tasks') }},

runs as {{ of_this_build('stg_audit_runs') }},

-- a filter at a time: the lists are as long as a run has answers, and side by side they would lie in memory three times
measured as (
    {%- for filter, labels, level, is_balanced in filters %}
        select
            lists.audit_run_id,
            lists.scope,
            lists.model_id,
            lists.task_id,
            lists.strategy,
            lists.paraphrase_temperature,
            '{{ filter }}' as annotation_filter,
            unnest(
                try_prompt_stability(
                    {{ told_as('lists', is_row=true) }},
                    lists.samples,
                    lists.annotators,
                    lists.families,
                    lists.replicates,
                    lists.{{ labels }},
                    {{ level }},
                    {{ is_balanced }},
                    runs.seed,
                    runs.n_resamples
                )
            ) as point
        from {{ of_this_build('int_annotations_listed') }} as lists
        inner join tasks using (audit_run_id, task_id)
        inner join runs using (audit_run_id)
        {{ 'union all' if not loop.last }}
    {%- endfor %}
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
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        measured.scope,
        measured.point.series as series,
        measured.annotation_filter,
        measured.paraphrase_temperature,
        measured.point.n_annotators as n_annotators,
        measured.point.pss as pss,
        measured.point.pss_low as pss_low,
        measured.point.pss_high as pss_high,
        measured.point.pss_boot_low as pss_boot_low,
        measured.point.pss_boot_high as pss_boot_high,
        measured.point.pss_cell_low as pss_cell_low,
        measured.point.pss_cell_high as pss_cell_high,
        measured.point.pss_z_low as pss_z_low,
        measured.point.pss_z_high as pss_z_high,
        if(measured.scope = 'inter', measured.point.pss_wordings_low, null) as pss_wordings_low,
        if(measured.scope = 'inter', measured.point.pss_wordings_high, null) as pss_wordings_high,
        measured.point.is_degenerate as is_degenerate,
        measured.point.n_samples as n_samples,
        measured.point.n_annotations as n_annotations,
        if(measured.point.series = 'adjacent', wordings.n_wordings_adjacent, wordings.n_wordings_cumulative)
            as n_distinct_wordings,
        {{ measure_version() }}
    from measured
    left join wordings
        on
            measured.audit_run_id = wordings.audit_run_id
            and measured.scope = wordings.scope
            and measured.model_id is not distinct from wordings.group_model_id
            and measured.task_id = wordings.task_id
            and measured.strategy = wordings.strategy
            and measured.paraphrase_temperature is not distinct from wordings.group_temperature
            and measured.point.n_annotators = wordings.n_annotators
)

select * from final
