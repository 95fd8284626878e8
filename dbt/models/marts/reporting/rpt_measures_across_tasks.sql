-- One row per run, task, strategy, measure and model: the scorecard's measures, with each model's place among the models.
-- Places count from the best. Models that answer at random, or with errors on purpose, have none.
with scorecards as (
    select * from {{ ref('rpt_audit') }}
    where {{ in_this_build() }}
),

models as (
    select * from {{ ref('stg_models') }}
    where {{ in_this_build() }}
),

reference_models as (
    select
        audit_run_id,
        model_id
    from models
    where {{ is_reference('models') }}
),

measured as (
    {%- for measure, direction, has_std in [
        ('sensitivity', 'lower', true), ('consistency', 'higher', true), ('micro_f1', 'higher', true),
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
            {{ 'coalesce(sensitivity >= ' ~ least_readable_sensitivity() ~ ', false)' if measure == 'consistency' else 'true' }}
                as is_readable
        from scorecards
        {{ 'union all' if not loop.last }}
    {%- endfor %}
),

marked as (
    select
        measured.*,
        reference_models.model_id is not null as is_reference,
        -- the last digits of a mean differ from build to build: what is equal but for them is equal
        round(if(measured.direction = 'lower', measured.value, -measured.value), 9) as place
    from measured
    left join reference_models using (audit_run_id, model_id)
),

ranked as (
    select
        *,
        rank() over (
            partition by audit_run_id, task_id, strategy, measure, is_reference order by place nulls last
        ) as place_in_row,
        count(value) filter (not is_reference) over (partition by audit_run_id, task_id, strategy, measure) as n_ranked
    from marked
),

final as (
    select
        audit_run_id,
        audit_id,
        task_id,
        strategy,
        measure,
        model_id,
        direction,
        value,
        value_low,
        value_high,
        value_std,
        if(is_reference or value is null, null, place_in_row)::integer as rank_in_row,
        n_ranked::integer as n_ranked,
        not is_reference and value is not null and place_in_row = 1 as is_best,
        is_reference,
        is_readable,
        {{ measure_version() }}
    from ranked
)

select * from final
