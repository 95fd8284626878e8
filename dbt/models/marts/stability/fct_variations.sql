-- One row per run, model, task, strategy and kind of variation: the measures over what differs in this kind alone, and how often
-- it moves answers.
with variations as {{ of_this_build('int_variations') }},

counted as {{ of_this_build('int_labels_counted') }},

effects as {{ of_this_build('int_variation_effects') }},

measured as {{ of_this_build('int_variations_measured') }},

whole as {{ of_this_build('int_groups_measured') }},

stabilities as (
    select * from {{ ref('fct_prompt_stability') }}
    where
        scope = 'inter'
        and series = 'all'
        and annotation_filter = 'labels_and_na'
        and model_id is not null
        and {{ in_this_build() }}
),

weighed as {{ of_this_build('int_options_weighed') }},

variants as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id
    from counted
),

samples_asked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(distinct sample_index) as n_samples
    from counted
    group by all
),

kinds as (
    select
        variants.audit_run_id,
        variants.model_id,
        variants.task_id,
        variants.strategy,
        variations.variation,
        count(distinct variations.value_index) as n_variants
    from variants
    inner join variations using (audit_run_id, task_id, strategy, prompt_variant_id)
    group by all
    having n_variants > 1
),

-- of a run with one kind of variation the group is the whole, whose figures are known
alone as (
    select * from kinds
    qualify count(*) over (partition by audit_run_id, task_id, strategy, model_id) = 1
),

alone_stabilities as (
    select
        alone.audit_run_id,
        alone.model_id,
        alone.task_id,
        alone.strategy,
        avg(stabilities.pss) as pss_inter,
        avg(stabilities.pss_low) as pss_inter_low,
        avg(stabilities.pss_high) as pss_inter_high
    from alone
    inner join stabilities using (audit_run_id, model_id, task_id, strategy)
    group by all
),

alone_measured as (
    select
        alone.audit_run_id,
        alone.model_id,
        alone.task_id,
        alone.strategy,
        alone.variation,
        alone_stabilities.pss_inter,
        alone_stabilities.pss_inter_low,
        alone_stabilities.pss_inter_high,
        whole.sensitivity.mean as sensitivity,
        whole.sensitivity.low as sensitivity_low,
        whole.sensitivity.high as sensitivity_high,
        whole.sensitivity.corrected as sensitivity_corrected,
        whole.sensitivity.corrected_low as sensitivity_corrected_low,
        whole.sensitivity.corrected_high as sensitivity_corrected_high,
        whole.consistency.consistency as consistency,
        whole.consistency.low as consistency_low,
        whole.consistency.high as consistency_high
    from alone
    left join alone_stabilities using (audit_run_id, model_id, task_id, strategy)
    left join whole using (audit_run_id, model_id, task_id, strategy)
    anti join measured using (audit_run_id, model_id, task_id, strategy)
),

figures as (
    select * from alone_measured
    union all by name
    select * from measured
),

by_sample as (
    select
        weighed.audit_run_id,
        weighed.model_id,
        weighed.task_id,
        weighed.strategy,
        variations.variation,
        weighed.sample_index,
        try_posix(
            {{ group_keys('weighed') }},
            list(weighed.option_loglikelihoods order by variations.variant)
        ) as posix
    from weighed
    inner join variations using (audit_run_id, task_id, strategy, prompt_variant_id)
    where variations.is_of_original
    group by all
),

likelihoods as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        variation,
        avg(posix) as posix
    from by_sample
    group by all
),

final as (
    select
        kinds.audit_run_id,
        kinds.model_id,
        kinds.task_id,
        kinds.strategy,
        kinds.variation,
        kinds.n_variants::integer as n_variants,
        coalesce(effects.n_samples, samples_asked.n_samples)::integer as n_samples,
        figures.sensitivity,
        figures.sensitivity_low,
        figures.sensitivity_high,
        figures.sensitivity_corrected,
        figures.sensitivity_corrected_low,
        figures.sensitivity_corrected_high,
        figures.consistency,
        figures.consistency_low,
        figures.consistency_high,
        figures.pss_inter,
        figures.pss_inter_low,
        figures.pss_inter_high,
        likelihoods.posix,
        effects.disagreement,
        effects.noise,
        effects.noise_from,
        effects.effect,
        effects.effect_low,
        effects.effect_high,
        effects.effect_share,
        coalesce(effects.verdict, 'not_measured') as verdict,
        {{ measure_version() }}
    from kinds
    inner join samples_asked using (audit_run_id, model_id, task_id, strategy)
    left join figures using (audit_run_id, model_id, task_id, strategy, variation)
    left join likelihoods using (audit_run_id, model_id, task_id, strategy, variation)
    left join effects using (audit_run_id, model_id, task_id, strategy, variation)
)

select * from final
