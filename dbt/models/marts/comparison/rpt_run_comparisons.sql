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

runs as {{ all_of('stg_audit_runs') }},

{% if is_incremental() -%}
    -- pairs of earlier runs between which the provider named the same model and nothing changed
    steady as (
        select * from {{ this }}
        where
            measure = 'label_churn'
            and base_run_id != candidate_run_id
            and cause = 'nothing_changed'
            and verdict = 'within_noise'
            and measure_version = {{ var('measure_version') }}
    ),
{%- else -%}
    steady as (
        select * from measures
        where false
    ),
{%- endif %}

-- how often a cell differs between two nights when nothing changed, whatever order they were built in
nights as (
    select
        measures.comparison_id,
        measures.model_id,
        measures.task_id,
        measures.strategy,
        median(steady.candidate) as churn_between_nights
    from measures
    inner join steady using (audit_id, model_id, task_id, strategy, measure)
    inner join runs as own on measures.base_run_id = own.audit_run_id
    inner join runs as candidates on steady.candidate_run_id = candidates.audit_run_id
    where measures.measure = 'label_churn' and candidates.started_at <= own.started_at
    group by all
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
    where accuracies.model_id = accuracies.base_model_id
),

pairs as (
    select distinct
        candidate_run_id as audit_run_id,
        base_run_id,
        model_id,
        base_model_id,
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
            judged_otherwise.is_of_judge and measures.verdict in ('regressed', 'improved'),
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
        coalesce(nights.churn_between_nights, measures.churn_within_a_run) as noise_floor,
        case
            when nights.churn_between_nights is not null then 'past_runs'
            when measures.churn_within_a_run is not null then 'repetitions'
            else 'unknown'
        end as noise_source,
        case
            when measures.model_id != measures.base_model_id then 'other_model'
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
    left join nights using (comparison_id, model_id, task_id, strategy)
    left join judged_otherwise using (comparison_id, model_id, task_id, strategy, measure)
    left join moved
        on
            measures.candidate_run_id = moved.audit_run_id
            and measures.base_run_id = moved.base_run_id
            and measures.model_id = moved.model_id
            and measures.base_model_id = moved.base_model_id
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
        model_id,
        task_id,
        strategy,
        measure,
        base,
        candidate,
        difference,
        difference_low,
        difference_high,
        p_value,
        p_value_samples,
        p_value_variants,
        q_value,
        min_effect,
        try_detectable_difference(
            {{ told_as(keys=['comparison_id', 'model_id', 'task_id', 'strategy'], is_row=true) }},
            standard_error,
            degrees_of_freedom,
            n_tests::integer,
            min_effect,
            -- label_churn is tested on one side
            if(measure = 'label_churn', {{ significance_level() }}, {{ significance_level() }} / 2)
        ) as detectable_difference,
        verdict,
        case
            when reason is not null then reason
            when verdict = 'not_comparable' and is_of_judge is not true then 'too little to test'
            when verdict = 'not_judged' then 'no threshold in the audit''s card'
            when cause = 'other_model' then 'two models'
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
                || case churn_state
                    when 'drift' then 'drift, since the same cells are answered otherwise than when they are asked again'
                    when 'noise' then 'noise, since the same cells differ no more than when they are asked again'
                    else 'drift or noise, which nothing here tells apart'
                end
                || coalesce(printf(' (%.1f %% of pairs)', 100 * noise_floor), '')
        end as reason,
        cause,
        noise_floor,
        noise_source,
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
