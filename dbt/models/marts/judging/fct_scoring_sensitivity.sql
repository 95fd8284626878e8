-- One row per run, model, task and scoring method: how far accuracy spreads over the templates of the task.
-- A template is a prompt variant, of whatever strategy. The corrected spread is without what chance alone would give.
with averaged as (
    select * from {{ ref('int_scores_averaged') }}
    where accuracy is not null and {{ in_this_build() }}
),

runs as (
    select * from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

cells as (
    select
        *,
        dense_rank() over (partition by audit_run_id, task_id order by prompt_variant_id) as variant
    from averaged
),

measured as (
    select
        cells.audit_run_id,
        cells.model_id,
        cells.task_id,
        cells.scoring_method,
        {%- for accuracy in ['accuracy', 'accuracy_scored'] %}
            scoring_spread(
                list(cells.sample_index),
                list(cells.variant),
                list(cells.{{ accuracy }}),
                any_value(runs.seed),
                any_value(runs.n_resamples),
                false
            ) as {{ accuracy }},
        {%- endfor %}
        rater_agreement(
            list(cells.sample_index), list(cells.variant), list(cells.first_is_correct)
        ) as agreement
    from cells
    inner join runs using (audit_run_id)
    group by all
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        scoring_method,
        {%- for accuracy in ['accuracy', 'accuracy_scored'] %}
            {{ accuracy }}.mean as {{ accuracy }}_mean,
            {{ accuracy }}.std as {{ accuracy }}_std,
            {{ accuracy }}.std_sample as {{ accuracy }}_std_sample,
            {{ accuracy }}.std_corrected as {{ accuracy }}_std_corrected,
            {{ accuracy }}.std_corrected_low as {{ accuracy }}_std_corrected_low,
            {{ accuracy }}.std_corrected_high as {{ accuracy }}_std_corrected_high,
            {{ accuracy }}.range as {{ accuracy }}_range,
            coalesce({{ accuracy }}.n_samples_complete, 0)::integer as n_samples_{{ accuracy }}_corrected,
        {%- endfor %}
        accuracy.n_variants::integer as n_variants,
        accuracy.n_samples::integer as n_samples,
        agreement.fleiss_kappa,
        agreement.perfect_agreement_rate,
        agreement.n_rated::integer as n_samples_scored_everywhere,
        {{ measure_version() }}
    from measured
)

select * from final
