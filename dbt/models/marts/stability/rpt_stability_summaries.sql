-- One row per run, model, task, strategy, scope (intra or inter) and annotation filter: the summaries of PSS that the authors'
-- newer work gives. Of asks and of wordings without a temperature: how many it takes until the score stays where it ends. Of
-- wordings by temperature: where the score is least.
{% set keys = 'audit_run_id, model_id, task_id, strategy, scope, annotation_filter' %}
with stabilities as {{ of_this_build('fct_prompt_stability', where="scope in ('intra', 'inter') and pss is not null") }},

walked as (
    select
        *,
        abs(pss - arg_max(pss, n_annotators) over one_group) as deviation
    from stabilities
    where series = 'cumulative' and paraphrase_temperature is null
    window one_group as (partition by {{ keys }})
),

-- the last number of annotators whose score is farther off than the last digits of a sum
left_behind as (
    select
        *,
    {%- for tolerance in ['01', '02'] %}
        max(n_annotators) filter (deviation > 0.{{ tolerance }} + 1e-9) over (partition by {{ keys }})
            as n_far_{{ tolerance }}{{ ',' if not loop.last }}
    {%- endfor %}
    from walked
),

settled as (
    select
        {{ keys }},
        {%- for tolerance in ['01', '02'] %}
            min(n_annotators) filter (n_annotators > coalesce(n_far_{{ tolerance }}, 0)) as n_until_within_{{ tolerance }},
        {%- endfor %}
        max(deviation) as largest_deviation
    from left_behind
    group by all
),

neighbours as (
    select
        {{ keys }},
        avg(pss) as adjacent_mean,
        quantile_cont(pss, 0.75) - quantile_cont(pss, 0.25) as adjacent_iqr,
        avg((pss < 0.8)::integer) as below_rate
    from stabilities
    where series = 'adjacent' and paraphrase_temperature is null
    group by all
),

temperatures as (
    select
        {{ keys }},
        min(pss) as pss_min,
        arg_min(paraphrase_temperature, (pss, paraphrase_temperature)) as temperature_of_min,
        max(pss) - min(pss) as pss_range,
        avg((pss < 0.8)::integer) as below_rate,
        count(*)::integer as n_temperatures
    from stabilities
    where series = 'all' and paraphrase_temperature is not null
    group by all
),

final as (
    select
        {{ keys }},
        settled.n_until_within_01,
        settled.n_until_within_02,
        settled.largest_deviation,
        neighbours.adjacent_mean,
        neighbours.adjacent_iqr,
        temperatures.pss_min,
        temperatures.temperature_of_min,
        temperatures.pss_range,
        temperatures.n_temperatures,
        coalesce(temperatures.below_rate, neighbours.below_rate) as below_rate,
        {{ measure_version() }}
    from settled
    full outer join neighbours using ({{ keys }})
    full outer join temperatures using ({{ keys }})
)

select * from final
