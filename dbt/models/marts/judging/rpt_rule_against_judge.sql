-- One row per run, model, task, rule and judge: the spread of accuracy over templates under each, and what the judge removes.
-- A judge that errs removes spread of itself, or adds some: where people ruled enough, the rectified columns have the spread of
-- what people would say in its place.
with averaged as {{ of_this_build('int_scores_averaged') }},

runs as {{ of_this_build('stg_audit_runs') }},

rectified as {{ of_this_build('int_scores_rectified') }},

controls as {{ of_this_build('fct_judge_controls') }},

spreads as {{ of_this_build('fct_scoring_sensitivity') }},

variants as {{ variants_numbered('averaged', within='audit_run_id, task_id') }},

cells as (
    select
        averaged.*,
        starts_with(averaged.scoring_method, 'judge:') as is_judge,
        variants.variant
    from averaged
    inner join variants using (audit_run_id, task_id, prompt_variant_id)
),

measured as (
    select
        rules.audit_run_id,
        rules.model_id,
        rules.task_id,
        rules.scoring_method as rule,
        judges.scoring_method as judge,
        {%- for accuracy in ['accuracy', 'accuracy_scored'] %}
            try_rule_against_judge(
                {{ group_keys('rules', ['audit_run_id', 'model_id', 'task_id']) }},
                list(rules.sample_index),
                list(rules.variant),
                list(rules.{{ accuracy }}),
                list(judges.{{ accuracy }}),
                {%- for ruled in ['rulable', 'weight', 'ruled_judged', 'ruled_right'] %}
                    list({{ "coalesce(rectified." ~ ruled ~ ", 'nan')" if accuracy == 'accuracy' else "'nan'::double" }}),
                {%- endfor %}
                any_value(runs.seed),
                any_value(runs.n_resamples)
            ) as by_{{ accuracy }},
        {%- endfor %}
        bool_or(rules.is_graded) as is_rule_graded,
        sum(judges.n_missing)::bigint as n_missing
    from cells as rules
    inner join cells as judges
        on
            rules.audit_run_id = judges.audit_run_id
            and rules.model_id = judges.model_id
            and rules.prompt_variant_id = judges.prompt_variant_id
            and rules.sample_index = judges.sample_index
            and judges.is_judge
    inner join runs
        on rules.audit_run_id = runs.audit_run_id
    left join rectified
        on
            judges.audit_run_id = rectified.audit_run_id
            and judges.model_id = rectified.model_id
            and judges.prompt_variant_id = rectified.prompt_variant_id
            and judges.sample_index = rectified.sample_index
            and judges.scoring_method = rectified.judge
    -- a field is a part of the answer that a judge rules on
    where {{ kind_of_rater('rules.scoring_method') }} = 'rule' and not starts_with(rules.scoring_method, 'field:')
    group by rules.audit_run_id, rules.model_id, rules.task_id, rules.scoring_method, judges.scoring_method
    -- a rule that none of a model's answers can be held against, as where its engine weighs no options, is not compared
    having count(rules.accuracy) > 0
),

error_rates as (
    select
        audit_run_id,
        task_id,
        scoring_method as judge,
        any_value(error_rate) filter (kind = 'right') as error_rate_right,
        any_value(error_rate) filter (kind = 'wrong') as error_rate_wrong,
        any_value(error_rate) filter (kind = 'blank') as error_rate_blank,
        any_value(error_rate) filter (kind = 'injected') as error_rate_injected
    from controls
    group by all
),

final as (
    select
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.rule,
        measured.judge,
        by_rule.accuracy_mean as accuracy_rule,
        by_judge.accuracy_mean as accuracy_judge,
        measured.by_accuracy.std_rule,
        measured.by_accuracy.std_judge,
        -- the bounds are over all that one of them scored, the figure over what both did
        {%- for rater in ['rule', 'judge'] %}
            {%- set spread = 'measured.by_accuracy.spread_' ~ rater %}
            {{ spread }},
            {%- for end, beyond in [('low', '>'), ('high', '<')] %}
                {%- set bound = 'by_' ~ rater ~ '.accuracy_std_corrected_' ~ end %}
                if({{ bound }} {{ beyond }} {{ spread }}, {{ spread }}, {{ bound }}) as spread_{{ rater }}_{{ end }},
            {%- endfor %}
        {%- endfor %}
        -- a share of words and a verdict are not on one scale
        {%- for figure in ['difference', 'share_removed'] %}
            {%- for ending in ['', '_low', '_high'] %}
                if(measured.is_rule_graded, null, measured.by_accuracy.{{ figure }}{{ ending }}) as {{ figure }}{{ ending }},
            {%- endfor %}
        {%- endfor %}
        measured.by_accuracy.spread_judge_rectified,
        measured.by_accuracy.spread_judge_rectified_low,
        measured.by_accuracy.spread_judge_rectified_high,
        {%- for figure in ['difference_rectified', 'share_removed_rectified'] %}
            {%- for ending in ['', '_low', '_high'] %}
                if(measured.is_rule_graded, null, measured.by_accuracy.{{ figure }}{{ ending }}) as {{ figure }}{{ ending }},
            {%- endfor %}
        {%- endfor %}
        measured.by_accuracy_scored.spread_rule as spread_rule_scored,
        measured.by_accuracy_scored.spread_judge as spread_judge_scored,
        {%- for figure in ['difference', 'share_removed'] %}
            {%- for ending in ['', '_low', '_high'] %}
                if(measured.is_rule_graded, null, measured.by_accuracy_scored.{{ figure }}{{ ending }})
                    as {{ figure }}_scored{{ ending }},
            {%- endfor %}
        {%- endfor %}
        by_judge.accuracy_rectified,
        by_judge.accuracy_rectified_low,
        by_judge.accuracy_rectified_high,
        by_judge.n_ruled,
        if(measured.by_accuracy.spread_judge_rectified is null, 'judge_unverified', 'verified') as judge_state,
        error_rates.error_rate_right,
        error_rates.error_rate_wrong,
        error_rates.error_rate_blank,
        error_rates.error_rate_injected,
        measured.is_rule_graded,
        measured.by_accuracy.n_variants::integer as n_variants,
        measured.by_accuracy.n_samples::integer as n_samples,
        measured.n_missing,
        {{ measure_version() }}
    from measured
    left join error_rates using (audit_run_id, task_id, judge)
    left join spreads as by_rule
        on
            measured.audit_run_id = by_rule.audit_run_id
            and measured.model_id = by_rule.model_id
            and measured.task_id = by_rule.task_id
            and measured.rule = by_rule.scoring_method
    left join spreads as by_judge
        on
            measured.audit_run_id = by_judge.audit_run_id
            and measured.model_id = by_judge.model_id
            and measured.task_id = by_judge.task_id
            and measured.judge = by_judge.scoring_method
)

select * from final
