-- One row per run, model, task, strategy, scoring method and wording: what speaks for shipping it. Wordings and templates alone,
-- and not what differs from the original in another respect; those are what the worst variation of a wording is of.
with averaged as {{ of_this_build('int_scores_averaged', where="scoring_method != 'people'") }},

runs as {{ of_this_build('stg_audit_runs') }},

variants as {{ of_this_build('stg_prompt_variants') }},

samples as {{ of_this_build('stg_samples') }},

predictions as {{ of_this_build('fct_predictions') }},

counted as {{ of_this_build('int_labels_counted') }},

scored as (
    select
        averaged.audit_run_id,
        averaged.model_id,
        averaged.task_id,
        averaged.strategy,
        averaged.prompt_variant_id,
        averaged.scoring_method,
        averaged.sample_index,
        -- samples without a cluster are one each
        min(averaged.sample_index) over (
            partition by
                averaged.audit_run_id, averaged.task_id, samples.cluster,
                if(samples.cluster is null, averaged.sample_index, null)
        ) as cluster_index,
        averaged.accuracy,
        runs.seed,
        {{ smallest_effect('runs.card') }} as min_effect,
        variants.variation,
        variants.is_worded_alone,
        variants.is_original,
        variants.paraphrase_temperature,
        variants.model_ids,
        json_extract(variants.setting, ['$.wording', '$.template'])::varchar[] as wording
    from averaged
    inner join runs using (audit_run_id)
    inner join samples using (audit_run_id, task_id, sample_index)
    inner join variants using (audit_run_id, prompt_variant_id)
    where averaged.accuracy is not null
),

numbered as {{ variants_numbered('scored') }},

-- noise, orders and formats of a wording
variations as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        paraphrase_temperature,
        model_ids,
        wording,
        variation,
        avg(accuracy) as accuracy
    from scored
    where not is_worded_alone
    group by all
),

worst as (
    select
        * exclude (variation, accuracy),
        min(accuracy) as accuracy_worst_variation,
        arg_min(variation, accuracy) as worst_variation
    from variations
    group by all
),

wordings as (
    select distinct
        scored.* exclude (sample_index, cluster_index, accuracy, variation, is_worded_alone),
        numbered.variant,
        worst.accuracy_worst_variation,
        worst.worst_variation
    from scored
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
    left join worst
        on
            scored.audit_run_id = worst.audit_run_id
            and scored.model_id = worst.model_id
            and scored.task_id = worst.task_id
            and scored.strategy = worst.strategy
            and scored.scoring_method = worst.scoring_method
            and scored.paraphrase_temperature is not distinct from worst.paraphrase_temperature
            and scored.model_ids is not distinct from worst.model_ids
            and scored.wording is not distinct from worst.wording
    where scored.is_worded_alone
),

chosen as (
    select
        scored.audit_run_id,
        scored.model_id,
        scored.task_id,
        scored.strategy,
        scored.scoring_method,
        unnest(try_wording_choices(
            {{ group_keys('scored') }},
            list(scored.sample_index),
            list(scored.cluster_index),
            list(numbered.variant),
            list(scored.accuracy),
            list(scored.is_original::integer),
            any_value(scored.seed)
        )) as own
    from scored
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
    where scored.is_worded_alone
    group by scored.audit_run_id, scored.model_id, scored.task_id, scored.strategy, scored.scoring_method
),

hypotheses as (
    select
        * exclude (own),
        own.variant as variant,
        own.p_value as p_value
    from chosen
    where own.is_chosen
),

-- over all groups of a run
adjusted as (
    {{ benjamini_hochberg('hypotheses', family='audit_run_id') }}
),

costs as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        avg(prompt_tokens) as mean_prompt_tokens,
        avg(completion_tokens) as mean_completion_tokens
    from predictions
    group by all
),

cells as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        sample_index,
        sum(n_answers * (n_answers - 1)) / (any_value(n_repetitions) * (any_value(n_repetitions) - 1)) as agreement
    from counted
    where n_repetitions > 1
    group by all
),

agreed as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        avg(agreement) as agreement
    from cells
    group by all
),

final as (
    select
        wordings.audit_run_id,
        wordings.model_id,
        wordings.task_id,
        wordings.strategy,
        wordings.scoring_method,
        wordings.prompt_variant_id,
        wordings.is_original,
        chosen.own.accuracy as accuracy,
        chosen.own.low as accuracy_low,
        chosen.own.high as accuracy_high,
        chosen.own.shrunk as accuracy_shrunk,
        chosen.own.chance_best as chance_best,
        chosen.own.expected_loss as expected_loss,
        wordings.accuracy_worst_variation,
        wordings.worst_variation,
        agreed.agreement,
        costs.mean_prompt_tokens,
        costs.mean_completion_tokens,
        (row_number() over (
            partition by
                wordings.audit_run_id, wordings.model_id, wordings.task_id, wordings.strategy, wordings.scoring_method
            order by
                chosen.own.is_chosen desc,
                chosen.own.accuracy desc,
                wordings.is_original desc,
                costs.mean_prompt_tokens asc,
                wordings.prompt_variant_id asc
        ))::integer as choice_rank,
        chosen.own.is_chosen as is_chosen,
        chosen.own.gain as gain,
        chosen.own.gain_low as gain_low,
        chosen.own.gain_high as gain_high,
        adjusted.q_value,
        coalesce(chosen.own.gain_low > 0 and adjusted.q_value <= {{ significance_level() }}, false)
        and chosen.own.plain_gain >= wordings.min_effect and not wordings.is_original as is_better,
        {{ measure_version() }}
    from wordings
    left join adjusted using (audit_run_id, model_id, task_id, strategy, scoring_method, variant)
    left join costs using (audit_run_id, model_id, prompt_variant_id)
    left join agreed using (audit_run_id, model_id, prompt_variant_id)
    inner join chosen using (audit_run_id, model_id, task_id, strategy, scoring_method)
    where wordings.variant = chosen.own.variant
)

select * from final
