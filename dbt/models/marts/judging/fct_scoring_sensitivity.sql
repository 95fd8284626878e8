-- One row per run, model, task and scoring method: how far accuracy spreads over the templates of the task.
-- A template is a prompt variant, of whatever strategy. The corrected spread is without what chance alone would give. By a judge
-- both are rectified by what people ruled.
with averaged as {{ of_this_build('int_scores_averaged', where='accuracy is not null') }},

ruled as {{ of_this_build('int_scores_rectified') }},

runs as {{ of_this_build('stg_audit_runs') }},

variants as {{ variants_numbered('averaged', within='audit_run_id, task_id') }},

cells as (
    select
        averaged.*,
        variants.variant
    from averaged
    inner join variants using (audit_run_id, task_id, prompt_variant_id)
),

rectified as (
    select
        ruled.audit_run_id,
        ruled.model_id,
        ruled.task_id,
        ruled.judge,
        try_rectified_accuracy(
            {{ group_keys('ruled', ['audit_run_id', 'model_id', 'task_id']) }},
            list(ruled.sample_index),
            list(cells.variant),
            list(ruled.judged),
            list(ruled.rulable),
            list(ruled.weight),
            list(ruled.ruled_judged),
            list(ruled.ruled_right),
            any_value(runs.seed),
            any_value(runs.n_resamples)
        ) as own,
        len(list_distinct(flatten(list(ruled.answers_ruled)))) as n_ruled
    from ruled
    inner join cells
        on
            ruled.audit_run_id = cells.audit_run_id
            and ruled.model_id = cells.model_id
            and ruled.prompt_variant_id = cells.prompt_variant_id
            and ruled.sample_index = cells.sample_index
            and ruled.judge = cells.scoring_method
    inner join runs
        on ruled.audit_run_id = runs.audit_run_id
    group by all
),

measured as (
    select
        cells.audit_run_id,
        cells.model_id,
        cells.task_id,
        cells.scoring_method,
        {%- for accuracy in ['accuracy', 'accuracy_scored'] %}
            try_scoring_spread(
                {{ group_keys('cells', ['audit_run_id', 'model_id', 'task_id']) }},
                list(cells.sample_index),
                list(cells.variant),
                list(cells.{{ accuracy }}),
                any_value(runs.seed),
                any_value(runs.n_resamples)
            ) as {{ accuracy }},
        {%- endfor %}
        try_rater_agreement(
            {{ group_keys('cells', ['audit_run_id', 'model_id', 'task_id']) }},
            list(cells.sample_index), list(cells.variant), list(cells.first_is_correct), list(1)
        ) as agreement
    from cells
    inner join runs using (audit_run_id)
    group by all
),

final as (
    select
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.scoring_method,
        {%- for accuracy in ['accuracy', 'accuracy_scored'] %}
            measured.{{ accuracy }}.mean as {{ accuracy }}_mean,
            measured.{{ accuracy }}.std as {{ accuracy }}_std,
            measured.{{ accuracy }}.std_sample as {{ accuracy }}_std_sample,
            measured.{{ accuracy }}.std_corrected as {{ accuracy }}_std_corrected,
            measured.{{ accuracy }}.std_corrected_low as {{ accuracy }}_std_corrected_low,
            measured.{{ accuracy }}.std_corrected_high as {{ accuracy }}_std_corrected_high,
            measured.{{ accuracy }}.range as {{ accuracy }}_range,
            coalesce(measured.{{ accuracy }}.n_samples_complete, 0)::integer as n_samples_{{ accuracy }}_corrected,
        {%- endfor %}
        rectified.own.accuracy as accuracy_rectified,
        rectified.own.accuracy_low as accuracy_rectified_low,
        rectified.own.accuracy_high as accuracy_rectified_high,
        rectified.own.std as accuracy_std_rectified,
        rectified.own.std_low as accuracy_std_rectified_low,
        rectified.own.std_high as accuracy_std_rectified_high,
        if(starts_with(measured.scoring_method, 'judge:'), coalesce(rectified.n_ruled, 0), null)::integer as n_ruled,
        case
            when starts_with(measured.scoring_method, 'judge:')
                then if(rectified.own.accuracy is null, 'judge_unverified', 'verified')
        end as judge_state,
        measured.accuracy.n_variants::integer as n_variants,
        measured.accuracy.n_samples::integer as n_samples,
        measured.agreement.fleiss_kappa,
        measured.agreement.perfect_agreement_rate,
        measured.agreement.n_rated::integer as n_samples_scored_everywhere,
        {{ measure_version() }}
    from measured
    left join rectified
        on
            measured.audit_run_id = rectified.audit_run_id
            and measured.model_id = rectified.model_id
            and measured.task_id = rectified.task_id
            and measured.scoring_method = rectified.judge
)

select * from final
