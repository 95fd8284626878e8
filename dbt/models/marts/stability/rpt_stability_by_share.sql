-- One row per run, model, task, strategy, scope (intra, inter) and share of the samples (2, 5, 10, 25, 50, 75 and 100 %): PSS
-- of that part of them. Of inter it is the mean over paraphrase temperatures, as in rpt_audit. The whole is that of
-- fct_prompt_stability.
with annotators as {{ of_this_build('int_annotators', where="scope in ('intra', 'inter')") }},

predictions as {{ of_this_build('int_predictions_measured') }},

stabilities as (
    select * from {{ ref('fct_prompt_stability') }}
    where
        scope in ('intra', 'inter')
        and series = 'all'
        and annotation_filter = 'labels_and_na'
        and {{ in_this_build() }}
),

tasks as {{ of_this_build('stg_tasks') }},

runs as {{ of_this_build('stg_audit_runs') }},

answers as (
    select
        annotators.audit_run_id,
        annotators.model_id,
        annotators.task_id,
        annotators.strategy,
        annotators.scope,
        annotators.group_temperature as paraphrase_temperature,
        annotators.annotator,
        annotators.replicate,
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
        scope,
        sample_id,
        sample_index
    from answers
),

-- by a hash of the seed and the name: the same samples on every machine, each part within the next
placed as (
    select
        samples.*,
        tasks.level,
        row_number() over (one_group order by md5(runs.seed || ':' || samples.sample_id), samples.sample_id)::integer as place,
        count(*) over one_group as n_samples
    from samples
    inner join tasks using (audit_run_id, task_id)
    inner join runs using (audit_run_id)
    window one_group as (
        partition by samples.audit_run_id, samples.model_id, samples.task_id, samples.strategy, samples.scope
    )
),

measured as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        answers.scope,
        answers.paraphrase_temperature,
        unnest(
            try_prompt_stability_by_share(
                {{ group_keys('answers') }},
                list(answers.sample_index),
                list(answers.annotator),
                list(answers.replicate),
                list(answers.annotation),
                list(placed.place),
                any_value(placed.level),
                any_value(placed.n_samples)
            )
        ) as point
    from answers
    inner join placed using (audit_run_id, model_id, task_id, strategy, scope, sample_index)
    group by
        answers.audit_run_id, answers.model_id, answers.task_id, answers.strategy,
        answers.scope, answers.paraphrase_temperature
),

points as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scope,
        point.sample_share as sample_share,
        point.pss as pss,
        point.pss_low as pss_low,
        point.pss_high as pss_high,
        point.is_degenerate as is_degenerate,
        point.n_samples as n_samples,
        point.n_annotators as n_annotators,
        point.n_annotations as n_annotations
    from measured
    union all
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scope,
        1.0::double as sample_share,
        pss,
        pss_low,
        pss_high,
        is_degenerate,
        n_samples,
        n_annotators,
        n_annotations
    from stabilities
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scope,
        sample_share,
        avg(pss) as pss,
        avg(pss_low) as pss_low,
        avg(pss_high) as pss_high,
        bool_and(is_degenerate) as is_degenerate,
        max(n_samples) as n_samples,
        max(n_annotators) as n_annotators,
        sum(n_annotations)::integer as n_annotations,
        {{ measure_version() }}
    from points
    group by all
)

select * from final
