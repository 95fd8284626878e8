-- One row per run, model, task, strategy, gold label and sample, of one class a run and task: how alike the sample is treated to
-- the others. The class is the one with the lowest consistency among those of three samples or more, of a model that answers
-- neither by chance nor with errors on purpose where there is one. Of a larger class 40 samples are compared.
with models as (
    select * from {{ ref('stg_models') }}
    where {{ in_this_build() }}
),

runs as (
    select * from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

consistencies as (
    select * from {{ ref('fct_consistency') }}
    where n_samples >= 3 and consistency is not null and {{ in_this_build() }}
),

said as (
    select * from {{ ref('fct_p_tau') }}
    where p_tau > 0 and {{ in_this_build() }}
),

reference_models as (
    select
        audit_run_id,
        model_id
    from models
    where engine = 'embedded' and model in ('random', 'noisy')
),

classes as (
    select
        consistencies.audit_run_id,
        consistencies.model_id,
        consistencies.task_id,
        consistencies.strategy,
        consistencies.gold_label,
        runs.seed
    from consistencies
    inner join runs using (audit_run_id)
    left join reference_models using (audit_run_id, model_id)
    qualify
        row_number() over (
            partition by consistencies.audit_run_id, consistencies.task_id
            order by
                reference_models.model_id is not null,
                consistencies.consistency,
                consistencies.model_id,
                consistencies.strategy,
                consistencies.gold_label
        ) = 1
),

-- by a hash of the seed and the name: the same samples on every machine
chosen as (
    select
        classes.*,
        said.sample_id,
        said.sample_index,
        nullif(said.label_index, -1) as label_index,
        said.p_tau
    from classes
    inner join said using (audit_run_id, model_id, task_id, strategy, gold_label)
    qualify
        dense_rank() over (
            partition by classes.audit_run_id, classes.task_id
            order by md5(classes.seed || ':' || said.sample_id), said.sample_id
        ) <= 40
),

compared as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        count(distinct sample_index) as n_samples,
        mean_consistency(list(0), list(sample_index), list(label_index), list(p_tau)) as samples,
        consistency(list(0), list(sample_index), list(label_index), list(p_tau), any_value(seed), 0) as pairs
    from chosen
    group by all
),

measured as (
    select
        * exclude (samples),
        unnest(samples) as one_of_them
    from compared
),

names as (
    select distinct
        audit_run_id,
        task_id,
        sample_index,
        sample_id
    from chosen
),

final as (
    select
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        measured.gold_label,
        names.sample_id,
        measured.one_of_them.mean_consistency as mean_similarity,
        measured.n_samples,
        measured.n_samples * (measured.n_samples - 1) // 2 as n_pairs,
        measured.pairs.consistency_distinct as mean_similarity_of_pairs,
        {{ measure_version() }}
    from measured
    inner join names
        on
            measured.audit_run_id = names.audit_run_id
            and measured.task_id = names.task_id
            and measured.one_of_them.sample = names.sample_index
)

select * from final
