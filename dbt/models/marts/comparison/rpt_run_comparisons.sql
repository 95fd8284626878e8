-- One row per base run, candidate run, model, task, strategy and measure: is the difference more than chance, and why.
-- Comes after the flips, so that a comparison which has rows here has them there.
-- depends_on: {{ ref('fct_flips') }}
with measures as {{ all_of('int_differences_judged') }},

changes as {{ all_of('int_changes_attributed') }},

rulings as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        unnest(['accuracy:' || scoring_method, 'accuracy_std:' || scoring_method]) as measure,
        scoring_method as judge,
        n_same,
        n_ruled_otherwise,
        difference_of_rulings
    from {{ ref('int_rulings_paired') }}
),

-- whether the same cells are answered otherwise than nights or repetitions have it
churned as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        verdict as churn_verdict
    from measures
    where measure = 'label_churn'
),

-- a judge that rules otherwise on the same words moved what it scores, and not the model: where that is half of the difference
-- in accuracy or more, and as much as matters
judged_otherwise as (
    select
        rulings.*,
        abs(rulings.difference_of_rulings) >= accuracies.min_effect
        and rulings.difference_of_rulings * accuracies.difference > 0
        and abs(rulings.difference_of_rulings) >= 0.5 * abs(accuracies.difference) as is_of_judge
    from rulings
    inner join measures as accuracies
        on
            rulings.comparison_id = accuracies.comparison_id
            and rulings.model_id = accuracies.model_id
            and rulings.task_id = accuracies.task_id
            and rulings.strategy = accuracies.strategy
            and accuracies.measure = 'accuracy:' || rulings.judge
    where not accuracies.are_two_groups
),

pairs as (
    select distinct
        candidate_run_id as audit_run_id,
        base_run_id,
        model_id,
        base_model_id,
        base_strategy,
        task_id,
        strategy
    from measures
),

moved as {{ confusions_moved('pairs') }},

attributed as (
    select
        measures.* exclude (verdict),
        moved.moved_gold_label,
        moved.moved_label,
        moved.n_moved,
        moved.n_moved_before,
        moved.n_moved_samples,
        if(
            judged_otherwise.is_of_judge and measures.verdict in ('regressed', 'improved', 'unconfirmed'),
            'not_comparable',
            measures.verdict
        ) as verdict,
        judged_otherwise.is_of_judge,
        judged_otherwise.n_same,
        judged_otherwise.n_ruled_otherwise,
        list_filter(
            changes.causes,
            lambda each: each.judge is null
            or measures.measure in ('accuracy:' || each.judge, 'accuracy_std:' || each.judge)
        ) as own_causes,
        churned.churn_verdict,
        case
            when measures.model_id != measures.base_model_id then 'other_model'
            when measures.are_two_groups then 'other_strategy'
            when measures.measure like 'accuracy%'
                then
                    case
                        when
                            judged_otherwise.is_of_judge
                            and len(list_filter(own_causes, lambda each: each.judge is not null)) > 0
                            then 'provider_changed_the_judge'
                        else coalesce(own_causes[1].cause, 'nothing_changed')
                    end
            else coalesce(changes.cause_of_labels, 'nothing_changed') -- a judge scores, and reads no label
        end as cause
    from measures
    left join changes using (comparison_id, model_id, task_id, strategy)
    left join churned using (comparison_id, model_id, task_id, strategy)
    left join judged_otherwise using (comparison_id, model_id, task_id, strategy, measure)
    left join moved
        on
            measures.candidate_run_id = moved.audit_run_id
            and measures.base_run_id = moved.base_run_id
            and measures.model_id = moved.model_id
            and measures.base_model_id = moved.base_model_id
            and measures.base_strategy = moved.base_strategy
            and measures.task_id = moved.task_id
            and measures.strategy = moved.strategy
            and (
                measures.measure in ('micro_f1', 'label_churn', 'sensitivity', 'sensitivity_corrected', 'consistency')
                or starts_with(measures.measure, 'accuracy:')
            )
),

final as (
    select
        comparison_id,
        base_run_id,
        candidate_run_id,
        audit_id,
        base_model_id,
        base_strategy,
        model_id,
        task_id,
        strategy,
        measure,
        base,
        candidate,
        difference,
        difference_low,
        difference_high,
        standard_error,
        degrees_of_freedom,
        p_value,
        q_value,
        n_tests::integer as n_tests,
        min_effect,
        try_detectable_difference(
            {{ group_keys(keys=['comparison_id', 'model_id', 'task_id', 'strategy'], is_row=true) }},
            standard_error,
            degrees_of_freedom,
            n_tests::integer,
            min_effect,
            -- label_churn is tested on one side
            if(measure = 'label_churn', {{ significance_level() }}, {{ significance_level() }} / 2)
        ) as detectable_difference,
        -- of which the same measure would be within min_effect eight times in ten, did nothing change
        try_cast(
            ceil(
                n_samples
                * power(
                    ((difference_high - difference_low) / (2 * standard_error) + 1.2816)
                    * standard_error / nullif(min_effect, 0),
                    2
                )
            ) as bigint
        ) as n_samples_for_same,
        claim,
        coalesce(n_alike_nights, 0)::integer as n_alike_nights,
        spread_factor,
        night_sd,
        verdict,
        case
            when reason is not null then reason
            when verdict = 'not_comparable' and is_of_judge is not true then 'too little to test'
            when verdict = 'unconfirmed'
                then coalesce(
                    doubt,
                    'asked at different times, and how far it wanders between nights is not known yet ('
                    || coalesce(n_alike_nights, 0) || ' of 3 normal nights)'
                )
                || if(len(own_causes) > 0, '; ' || array_to_string(list_transform(own_causes, lambda each: each.said), '; '), '')
            when verdict = 'not_judged' then 'no threshold in the audit''s card'
            when cause = 'other_model' then 'two models'
            when cause = 'other_strategy' then 'two strategies'
            when is_of_judge
                then
                    'the judge rules otherwise on ' || n_ruled_otherwise || ' of ' || n_same || ' answers that both runs gave'
                    || if(
                        len(own_causes) > 0,
                        ': ' || array_to_string(list_transform(own_causes, lambda each: each.said), '; '),
                        ', and nothing that was recorded changed'
                    )
            when len(own_causes) > 0
                then array_to_string(list_transform(own_causes, lambda each: each.said), '; ')
            else
                'nothing that was recorded changed: '
                || case
                    when churn_verdict = 'changed'
                        then 'drift, since the same cells are answered otherwise than on normal nights'
                    when churn_verdict = 'same' and verdict in ('same', 'none_shown')
                        then 'noise, since the same cells differ no more than on normal nights'
                    else 'drift or noise, which nothing here tells apart'
                end
        end as reason,
        cause,
        n_samples,
        n_variants,
        n_repetitions,
        moved_gold_label,
        moved_label,
        n_moved,
        n_moved_before,
        n_moved_samples,
        {{ measure_version() }}
    from attributed
)

select * from final
