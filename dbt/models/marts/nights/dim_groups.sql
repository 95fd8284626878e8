-- One row per night, model, task and strategy: what it asks, as one hash, and how many of its samples count.
-- A judge is a group like a model, of strategy `anchors`. Of runs alone: an import, or a trial of chosen samples, is no night.
with runs as (
    select
        *,
        {{ smallest_effect() }} as min_effect,
        (card ->> '$.audits.*.samples.each_night')[1] is not null as is_rotating
    from {{ ref('stg_audit_runs') }}
    where origin = 'run' and {{ in_this_build() }}
),

models as {{ of_this_build('stg_models') }},

tasks as {{ of_this_build('stg_tasks') }},

task_labels as {{ of_this_build('stg_task_labels') }},

variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

samples as {{ of_this_build('int_samples_landed') }},

labels as (
    select
        audit_run_id,
        task_id,
        string_agg(label, chr(0) order by label_index) as labels
    from task_labels
    group by all
),

-- the names of who serves a model are no part: a provider that changes them is a cause, and the nights go on
prompts as (
    select
        models.audit_run_id,
        models.model_id,
        variants.task_id,
        variants.strategy,
        any_value({{ as_sent_to_the_model('models.card') }}) as model_card,
        string_agg(
            concat_ws(
                chr(0), variants.prompt_variant_id, variants.prompt, variants.template, variants.repetitions::varchar
            ),
            chr(1)
            order by variants.prompt_variant_id
        ) as prompts,
        count(*) as n_wordings
    from models
    inner join variants
        on
            models.audit_run_id = variants.audit_run_id
            and (variants.model_ids is null or list_contains(variants.model_ids, models.model_id))
    group by all
),

counted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(*) as n_samples,
        count(*) filter (is_counted) as n_samples_counted
    from samples
    group by all
),

judges as {{ of_this_build('int_judge_groups') }},

final as (
    select
        prompts.audit_run_id,
        runs.audit_id,
        prompts.model_id,
        prompts.task_id,
        prompts.strategy,
        runs.started_at,
        md5(concat_ws(chr(2), prompts.model_card, tasks.level, labels.labels, prompts.prompts)) as plan,
        prompts.n_wordings,
        runs.min_effect,
        runs.is_rotating,
        counted.n_samples,
        counted.n_samples_counted,
        {{ measure_version() }}
    from prompts
    inner join runs using (audit_run_id)
    inner join tasks using (audit_run_id, task_id)
    left join labels using (audit_run_id, task_id)
    inner join counted using (audit_run_id, model_id, task_id, strategy)
    union all by name
    select
        judges.*,
        runs.audit_id,
        runs.started_at,
        runs.min_effect,
        runs.is_rotating,
        {{ measure_version() }}
    from judges
    inner join runs using (audit_run_id)
)

select * from final
