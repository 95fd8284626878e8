-- One row per run, task, class that is shown pair by pair, sample of it and label it ever got (NULL is N/A).
-- Two classes a run and task: the one with the lowest consistency among those of three samples or more, of a model that
-- answers neither by chance nor with errors on purpose where there is one; and of the same model and strategy the one with the
-- highest. Of the classes that a task's card names for it, where it does; of three named ones the one between is the middle.
-- Of a larger class 40 samples are shown.
with models as {{ of_this_build('stg_models') }},

runs as {{ of_this_build('stg_audit_runs') }},

tasks as (
    select
        audit_run_id,
        task_id,
        from_json(coalesce(json_extract(card, '$.pair_classes'), '[]'), '["VARCHAR"]') as pair_classes
    from {{ ref('stg_tasks') }}
    where {{ in_this_build() }}
),

consistencies as (
    select measured.*
    from {{ ref('fct_consistency') }} as measured
    inner join tasks using (audit_run_id, task_id)
    where
        measured.n_samples >= 3
        and measured.consistency is not null
        and (len(tasks.pair_classes) = 0 or list_contains(tasks.pair_classes, measured.gold_label))
        and {{ in_this_build('measured.audit_run_id') }}
),

said as {{ of_this_build('fct_p_tau', where='p_tau > 0') }},

lowest as (
    select consistencies.*
    from consistencies
    inner join models using (audit_run_id, model_id)
    qualify
        row_number() over (
            partition by consistencies.audit_run_id, consistencies.task_id
            order by
                models.is_reference,
                consistencies.consistency,
                consistencies.model_id,
                consistencies.strategy,
                consistencies.gold_label
        ) = 1
),

others as (
    select
        consistencies.*,
        row_number() over (
            partition by consistencies.audit_run_id, consistencies.task_id
            order by consistencies.consistency desc, consistencies.gold_label asc
        ) as place
    from consistencies
    inner join lowest using (audit_run_id, model_id, task_id, strategy)
    where consistencies.gold_label != lowest.gold_label
),

classes as (
    select
        *,
        'lowest' as extreme
    from lowest
    union all by name
    select
        others.* exclude (place),
        if(others.place = 1, 'highest', 'middle') as extreme
    from others
    inner join tasks using (audit_run_id, task_id)
    where others.place = 1 or (others.place = 2 and len(tasks.pair_classes) > 2)
),

-- by a hash of the seed and the name: the same samples on every machine
final as (
    select
        classes.audit_run_id,
        classes.model_id,
        classes.task_id,
        classes.strategy,
        classes.gold_label,
        classes.extreme,
        runs.seed,
        said.sample_id,
        said.sample_index,
        nullif(said.label_index, -1) as label_index,
        said.p_tau
    from classes
    inner join runs using (audit_run_id)
    inner join said using (audit_run_id, model_id, task_id, strategy, gold_label)
    qualify
        dense_rank() over (
            partition by classes.audit_run_id, classes.task_id, classes.extreme
            order by md5(runs.seed || ':' || said.sample_id), said.sample_id
        ) <= 40
)

select * from final
