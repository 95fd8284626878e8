-- One row per run, model, task, strategy and share of the samples (.25, .5, .75): PSS by repetition of that part of them.
-- The whole is fct_prompt_stability, scope intra, series all, annotation filter valid.
with annotators as (
    select * from {{ ref('int_annotators') }}
    where scope = 'intra' and {{ in_this_build() }}
),

predictions as (
    select * from {{ ref('int_predictions_measured') }}
    where {{ in_this_build() }}
),

tasks as (
    select * from {{ ref('stg_tasks') }}
    where {{ in_this_build() }}
),

runs as (
    select * from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

shares (sample_share) as (
    values (0.25), (0.5), (0.75)
),

answers as (
    select
        annotators.audit_run_id,
        annotators.model_id,
        annotators.task_id,
        annotators.strategy,
        annotators.annotator,
        predictions.sample_id,
        predictions.sample_index,
        predictions.annotation
    from annotators
    inner join predictions using (audit_run_id, model_id, prompt_variant_id, repetition)
),

samples as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        sample_index
    from answers
),

-- by a hash of the seed and the name: the same samples on every machine, each part within the next
placed as (
    select
        samples.*,
        tasks.level,
        row_number() over (one_group order by md5(runs.seed || ':' || samples.sample_id), samples.sample_id) as place,
        count(*) over one_group as n_samples
    from samples
    inner join tasks using (audit_run_id, task_id)
    inner join runs using (audit_run_id)
    window one_group as (
        partition by samples.audit_run_id, samples.model_id, samples.task_id, samples.strategy
    )
),

listed as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        shares.sample_share,
        prompt_stability_of_all(
            list(answers.sample_index),
            list(answers.annotator),
            list(1),
            list(answers.annotation),
            any_value(placed.level)
        ) as points
    from answers
    inner join placed using (audit_run_id, model_id, task_id, strategy, sample_index)
    inner join shares on placed.place <= ceil(shares.sample_share * placed.n_samples)
    group by all
),

measured as (
    select
        * exclude (points),
        unnest(points) as point
    from listed
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_share::double as sample_share,
        point.pss as pss,
        point.pss_low as pss_low,
        point.pss_high as pss_high,
        point.is_degenerate as is_degenerate,
        point.n_samples as n_samples,
        point.n_annotators as n_annotators,
        point.n_annotations as n_annotations,
        {{ measure_version() }}
    from measured
)

select * from final
