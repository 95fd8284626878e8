-- One row per run, task, strategy, measure and model: the scorecard's measures, with each model's place among the models. Places
-- count from the best, within a strategy; the best of a task is so over models and strategies, of all models and of each set of
-- them (Errica et al. 2025, table 1). Models that answer at random or with errors on purpose have none, nor has a sensitivity
-- where models were measured by other numbers of wordings, nor a corrected one where one of these numbers is below 12.
with scorecards as {{ of_this_build('rpt_audit') }},

models as {{ of_this_build('stg_models') }},

model_sets as {{ of_this_build('int_model_sets') }},

measured as (
    {%- for measure, direction, has_std in [
        ('sensitivity', 'lower', true), ('sensitivity_corrected', 'lower', false),
        ('consistency', 'higher', true), ('micro_f1', 'higher', true),
        ('pss_intra', 'higher', false), ('pss_inter', 'higher', false),
    ] %}
        select
            audit_run_id,
            audit_id,
            task_id,
            strategy,
            '{{ measure }}' as measure,
            model_id,
            '{{ direction }}' as direction,
            {{ measure }} as value,
            {{ measure }}_low as value_low,
            {{ measure }}_high as value_high,
            {{ measure ~ '_std' if has_std else 'null::double' }} as value_std,
            n_variants_answered as n_variants_measured,
            {{ 'coalesce(sensitivity >= ' ~ least_readable_sensitivity() ~ ', false)' if measure == 'consistency' else 'true' }}
                as is_readable
        from scorecards
        {{ 'union all' if not loop.last }}
    {%- endfor %}
),

marked as (
    select
        measured.*,
        models.is_reference,
        -- the last digits of a mean differ from build to build: what is equal but for them is equal
        round(if(measured.direction = 'lower', measured.value, -measured.value), 9) as place,
        not models.is_reference and measured.value is not null as is_candidate
    from measured
    inner join models using (audit_run_id, model_id)
),

ranked as (
    select
        *,
        coalesce(
            not {{ wordings_compare(
                'min(n_variants_measured) filter (is_candidate) over one_row',
                'max(n_variants_measured) filter (is_candidate) over one_row',
            ) }},
            false
        ) as is_of_other_numbers,
        rank() over (
            partition by audit_run_id, task_id, strategy, measure, is_candidate order by place nulls last
        ) as place_in_row,
        count(*) filter (is_candidate) over one_row as n_candidates
    from marked
    window one_row as (partition by audit_run_id, task_id, strategy, measure)
),

best_of_sets as (
    select
        marked.audit_run_id,
        marked.task_id,
        marked.strategy,
        marked.measure,
        marked.model_id,
        model_sets.model_set
    from marked
    inner join model_sets using (audit_run_id, model_id)
    where marked.is_candidate
    window
        one_set as (
            partition by marked.audit_run_id, marked.task_id, marked.measure, model_sets.model_set
        )
    qualify
        rank() over (one_set order by marked.place) = 1
        and count(*) over one_set > 1
        and {{ wordings_compare('min(n_variants_measured) over one_set', 'max(n_variants_measured) over one_set') }}
),

best_of as (
    select
        audit_run_id,
        task_id,
        strategy,
        measure,
        model_id,
        list(model_set order by model_set) as model_sets
    from best_of_sets
    group by all
),

final as (
    select
        audit_run_id,
        audit_id,
        task_id,
        strategy,
        ranked.measure,
        model_id,
        direction,
        value,
        value_low,
        value_high,
        value_std,
        if(is_candidate and not is_of_other_numbers, place_in_row, null)::integer as rank_in_row,
        if(is_of_other_numbers, 0, n_candidates)::integer as n_ranked,
        coalesce(list_contains(best_of.model_sets, 'all'), false) as is_best,
        coalesce(list_filter(best_of.model_sets, lambda name: name != 'all'), []) as best_of_sets,
        is_reference,
        is_readable,
        n_variants_measured::integer as n_variants_measured,
        {{ measure_version() }}
    from ranked
    left join best_of using (audit_run_id, task_id, strategy, measure, model_id)
)

select * from final
