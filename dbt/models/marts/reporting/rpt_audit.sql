-- One row per run, model, task and strategy: the scorecard.
with runs as {{ of_this_build('stg_audit_runs') }},

formats as {{ of_this_build('int_answer_formats') }},

variants_asked as {{ of_this_build('int_variants_asked') }},

variants as {{ of_this_build('stg_prompt_variants') }},

wordings as {{ of_this_build('int_wordings_numbered') }},

designs as {{ of_this_build('dim_designs') }},

predictions as {{ of_this_build('stg_predictions') }},

answers as {{ of_this_build('int_predictions_labelled', where="answer_status != 'error'") }},

samples as {{ of_this_build('fct_sensitivity') }},

annotated as (
    select
        *,
        annotation_filter = 'labels_and_na' as is_of_all
    from {{ ref('fct_prompt_stability') }}
    where
        series = 'all'
        and annotation_filter in ('labels_and_na', 'valid')
        and model_id is not null
        and {{ in_this_build() }}
),

ruled as {{ of_this_build('int_wordings_ruled') }},

measured as {{ of_this_build('int_groups_measured') }},

shares as {{ of_this_build('int_disagreement_shares') }},

working as {{ of_this_build('int_wordings_working') }},

families as {{ of_this_build('int_answer_families') }},

bounded as {{ of_this_build('int_missing_bounded') }},

samples_measured as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        count(distinct answers.sample_index) as n_samples
    from answers
    group by all
),

counted as (
    select
        formats.audit_run_id,
        formats.model_id,
        formats.task_id,
        formats.strategy,
        count(distinct formats.prompt_variant_id) as n_variants,
        count(distinct formats.prompt_variant_id) filter (formats.n_landed > formats.n_error) as n_variants_answered,
        count(distinct wordings.family_index) as n_wording_families,
        any_value(families.n_wordings_effective) as n_wordings_effective,
        count(distinct formats.prompt_variant_id) filter (
            coalesce(working.is_breaking, variants_asked.is_breaking)
        ) as n_variants_breaking,
        nullif(count(distinct formats.prompt_variant_id) filter (ruled.asks_the_same), 0) as n_variants_same_meaning,
        max(variants.n_repetitions)::integer as n_repetitions,
        sum(formats.n_planned) as n_planned,
        sum(formats.n_landed) as n_landed,
        sum(formats.n_error) as n_error,
        sum(formats.n_valid) as n_valid,
        sum(formats.n_landed - formats.n_error - formats.n_valid)
        / nullif(sum(formats.n_landed - formats.n_error), 0) as invalid_rate
    from formats
    inner join variants_asked using (audit_run_id, model_id, prompt_variant_id)
    inner join variants using (audit_run_id, prompt_variant_id)
    inner join wordings using (audit_run_id, prompt_variant_id)
    left join families using (audit_run_id, model_id, prompt_variant_id)
    left join working using (audit_run_id, model_id, prompt_variant_id)
    left join ruled using (audit_run_id, prompt_variant_id)
    group by all
),

costs as (
    select
        predictions.audit_run_id,
        predictions.model_id,
        predictions.task_id,
        variants.strategy,
        sum(predictions.cost_usd) as cost_usd
    from predictions
    inner join variants using (audit_run_id, prompt_variant_id)
    group by all
),

sensitivities as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        avg(sensitivity) as sensitivity,
        stddev_pop(sensitivity) as sensitivity_std,
        avg(sensitivity_valid) as sensitivity_valid,
        avg(output_uncertainty) as output_uncertainty,
        avg(posix) as posix
    from samples
    group by all
),

stability as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        avg(pss) filter (scope = 'intra' and is_of_all) as pss_intra,
        avg(pss_low) filter (scope = 'intra' and is_of_all) as pss_intra_low,
        avg(pss_high) filter (scope = 'intra' and is_of_all) as pss_intra_high,
        avg(pss) filter (scope = 'intra' and not is_of_all) as pss_intra_valid,
        avg(pss) filter (scope = 'inter' and is_of_all) as pss_inter,
        avg(pss_low) filter (scope = 'inter' and is_of_all) as pss_inter_low,
        avg(pss_high) filter (scope = 'inter' and is_of_all) as pss_inter_high,
        avg(pss) filter (scope = 'inter' and not is_of_all) as pss_inter_valid,
        avg(pss) filter (scope = 'inter_same_meaning' and is_of_all) as pss_inter_same_meaning,
        avg(pss_low) filter (scope = 'inter_same_meaning' and is_of_all) as pss_inter_same_meaning_low,
        avg(pss_high) filter (scope = 'inter_same_meaning' and is_of_all) as pss_inter_same_meaning_high
    from annotated
    group by all
),

final as (
    select
        counted.audit_run_id,
        runs.audit_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        coalesce(samples_measured.n_samples, 0) as n_samples,
        designs.n_samples as n_samples_planned,
        counted.n_variants,
        counted.n_variants_answered,
        counted.n_wording_families,
        counted.n_wordings_effective,
        counted.n_variants_breaking,
        counted.n_variants_same_meaning,
        counted.n_repetitions,
        counted.n_planned::bigint as n_planned,
        counted.n_landed::bigint as n_landed,
        counted.n_valid::bigint as n_valid,
        counted.n_error::bigint as n_error,
        sensitivities.sensitivity,
        measured.sensitivity.low as sensitivity_low,
        measured.sensitivity.high as sensitivity_high,
        sensitivities.sensitivity_std,
        sensitivities.sensitivity_valid,
        measured.sensitivity.corrected as sensitivity_corrected,
        measured.sensitivity.corrected_low as sensitivity_corrected_low,
        measured.sensitivity.corrected_high as sensitivity_corrected_high,
        measured.sensitivity_unbroken.mean as sensitivity_unbroken,
        measured.sensitivity_unbroken.low as sensitivity_unbroken_low,
        measured.sensitivity_unbroken.high as sensitivity_unbroken_high,
        measured.sensitivity_same_meaning.mean as sensitivity_same_meaning,
        measured.sensitivity_same_meaning.low as sensitivity_same_meaning_low,
        measured.sensitivity_same_meaning.high as sensitivity_same_meaning_high,
        measured.sensitivity_same_meaning.corrected as sensitivity_same_meaning_corrected,
        measured.consistency_rate.rate as consistency_rate,
        measured.consistency_rate.low as consistency_rate_low,
        measured.consistency_rate.high as consistency_rate_high,
        measured.consistency.consistency as consistency,
        measured.consistency.low as consistency_low,
        measured.consistency.high as consistency_high,
        measured.consistency_wordings.low as consistency_wordings_low,
        measured.consistency_wordings.high as consistency_wordings_high,
        measured.consistency.consistency_std as consistency_std,
        measured.micro_f1.mean as micro_f1,
        measured.micro_f1.low as micro_f1_low,
        measured.micro_f1.high as micro_f1_high,
        measured.micro_f1.std as micro_f1_std,
        measured.micro_f1_over_wordings.worst_5 as micro_f1_worst_5,
        measured.micro_f1_over_wordings.median as micro_f1_median,
        measured.micro_f1_over_wordings.best_5 as micro_f1_best_5,
        measured.micro_f1_unbroken.mean as micro_f1_unbroken,
        measured.micro_f1_unbroken.low as micro_f1_unbroken_low,
        measured.micro_f1_unbroken.high as micro_f1_unbroken_high,
        measured.under_all.mean as accuracy_under_all,
        measured.under_all.low as accuracy_under_all_low,
        measured.under_all.high as accuracy_under_all_high,
        measured.n_under_all as n_samples_under_all,
        measured.under_any.mean as accuracy_under_any,
        measured.under_any.low as accuracy_under_any_low,
        measured.under_any.high as accuracy_under_any_high,
        measured.n_under_any as n_samples_under_any,
        measured.majority.accuracy as accuracy_majority,
        measured.majority.low as accuracy_majority_low,
        measured.majority.high as accuracy_majority_high,
        measured.majority.gain as majority_gain,
        measured.majority.gain_low as majority_gain_low,
        measured.majority.gain_high as majority_gain_high,
        stability.pss_intra,
        stability.pss_intra_low,
        stability.pss_intra_high,
        stability.pss_intra_valid,
        stability.pss_inter,
        stability.pss_inter_low,
        stability.pss_inter_high,
        stability.pss_inter_valid,
        stability.pss_inter_same_meaning,
        stability.pss_inter_same_meaning_low,
        stability.pss_inter_same_meaning_high,
        shares.wording_share,
        shares.wording_share_low,
        shares.wording_share_high,
        shares.wording_share_wordings_low,
        shares.wording_share_wordings_high,
        shares.noise_share,
        shares.noise_share_low,
        shares.noise_share_high,
        shares.noise_share_wordings_low,
        shares.noise_share_wordings_high,
        shares.item_share,
        shares.item_share_low,
        shares.item_share_high,
        shares.item_share_wordings_low,
        shares.item_share_wordings_high,
        sensitivities.output_uncertainty,
        sensitivities.posix,
        counted.invalid_rate,
        -- the rate is of answers, its interval of variants that weigh equally: the bounds move to where the rate is
        {{ moved_on_the_logit('measured.invalid_rate.low', 'measured.invalid_rate.mean', 'counted.invalid_rate', 'least') }}
            as invalid_rate_low,
        {{ moved_on_the_logit('measured.invalid_rate.high', 'measured.invalid_rate.mean', 'counted.invalid_rate', 'greatest') }}
            as invalid_rate_high,
        {%- for measure in ['sensitivity', 'consistency', 'micro_f1', 'invalid_rate'] %}
            {%- for counted_as in ['na', 'modal'] %}
                bounded.{{ measure }}_if_missing_{{ counted_as }},
            {%- endfor %}
        {%- endfor %}
        costs.cost_usd,
        {{ measure_version() }}
    from counted
    inner join runs using (audit_run_id)
    inner join designs using (audit_run_id, model_id, task_id, strategy)
    left join samples_measured using (audit_run_id, model_id, task_id, strategy)
    left join measured using (audit_run_id, model_id, task_id, strategy)
    left join bounded using (audit_run_id, model_id, task_id, strategy)
    left join sensitivities using (audit_run_id, model_id, task_id, strategy)
    left join shares using (audit_run_id, model_id, task_id, strategy)
    left join stability using (audit_run_id, model_id, task_id, strategy)
    left join costs using (audit_run_id, model_id, task_id, strategy)
)

select * from final
