-- One row per base run, candidate run, model, task, strategy and measure: is the difference more than chance, and why.
-- Comes after the flips, so that a comparison which has rows here has them there.
-- depends_on: {{ ref('fct_flips') }}
-- depends_on: {{ ref('stg_audit_runs') }}
{% set causes = [
    ('we_changed_the_prompt', 'we changed the prompt'),
    ('we_changed_the_model', 'we changed the model'),
    ('provider_changed_the_model', 'the provider changed the model'),
    ('we_changed_the_scoring', 'we changed the scoring'),
    ('promptaudit_changed', 'promptaudit changed'),
    ('we_changed_the_data', 'we changed the data, of which only what both runs asked is compared'),
] %}
with measures as (
    select
        compared.*,
        paired.base_run_id,
        paired.candidate_run_id,
        paired.audit_id,
        paired.base_model_id,
        paired.min_effect,
        paired.max_cost_increase,
        paired.max_latency_increase
    from {{ ref('int_measures_compared') }} as compared
    inner join {{ ref('int_groups_paired') }} as paired using (comparison_id, model_id, task_id, strategy)
),

-- Benjamini and Hochberg over all measures that are tested between the two runs; label_churn, which has a verdict of its own
-- and would lend its certainty to the measures, is a family of its own
ranked as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        measure,
        p_value,
        measure = 'label_churn' as is_churn,
        count(*) over (partition by comparison_id, measure = 'label_churn') as n_tests,
        row_number() over (
            partition by comparison_id, measure = 'label_churn'
            order by p_value, model_id, task_id, strategy, measure
        ) as place
    from measures
    where p_value is not null
),

adjusted as (
    select
        * exclude (p_value, place, is_churn),
        least(
            1,
            min(p_value * n_tests / place) over (
                partition by comparison_id, is_churn
                order by place desc
                rows between unbounded preceding and current row
            )
        ) as q_value
    from ranked
),

changes as (
    select
        paired.comparison_id,
        paired.model_id,
        paired.task_id,
        paired.strategy,
        changed.cause,
        bool_and(changed.what = 'judge_card') as is_of_judges,
        string_agg(
            changed.what || if(
                len(changed.base) + len(changed.candidate) < 100, ' ' || changed.base || ' -> ' || changed.candidate, ''
            ),
            ', ' order by changed.what
        ) as details
    from {{ ref('int_groups_paired') }} as paired
    inner join {{ ref('rpt_run_changes') }} as changed
        on
            paired.comparison_id = changed.comparison_id
            and paired.model_id = coalesce(changed.model_id, paired.model_id)
            and paired.task_id = coalesce(changed.task_id, paired.task_id)
    group by all
),

attributed as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        min_by(cause, precedence) as cause,
        min_by(cause, precedence) filter (not is_of_judges) as cause_of_labels,
        string_agg(phrase || ' (' || details || ')', '; ' order by precedence) as why
    from changes
    inner join (
        values
        {%- for cause, phrase in causes %}
        ({{ loop.index }}, '{{ cause }}', '{{ phrase }}'){{ ',' if not loop.last }}
        {%- endfor %}
    ) as phrases (precedence, cause, phrase) using (cause)
    group by all
),

-- how often one cell differs from itself when nothing changed: in earlier nights, else when it is asked again in one
repeated as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        base as noise_floor
    from measures
    where measure = 'label_churn'
),

-- of pairs of earlier runs between which the provider named the same model and nothing changed; whatever order they were built in
{% if is_incremental() -%}
nights as (
    select
        measures.comparison_id,
        measures.model_id,
        measures.task_id,
        measures.strategy,
        median(earlier.candidate) as noise_floor
    from measures
    inner join {{ ref('stg_audit_runs') }} as own on measures.base_run_id = own.audit_run_id
    inner join {{ this }} as earlier
        on
            measures.audit_id = earlier.audit_id
            and measures.model_id = earlier.model_id
            and measures.task_id = earlier.task_id
            and measures.strategy = earlier.strategy
            and measures.measure = earlier.measure
    inner join {{ ref('stg_audit_runs') }} as candidates on earlier.candidate_run_id = candidates.audit_run_id
    where
        measures.measure = 'label_churn'
        and earlier.base_run_id != earlier.candidate_run_id
        and earlier.cause = 'nothing_changed'
        and earlier.verdict = 'within_noise'
        and candidates.started_at <= own.started_at
    group by all
),
{%- else -%}
nights as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        null::double as noise_floor
    from measures
    where false
),
{%- endif %}

-- whether the same cells are answered otherwise than chance would have it
churned as (
    select
        measures.comparison_id,
        measures.model_id,
        measures.task_id,
        measures.strategy,
        adjusted.q_value <= 0.05 and measures.difference >= measures.min_effect as is_other
    from measures
    inner join adjusted using (comparison_id, model_id, task_id, strategy, measure)
    where measures.measure = 'label_churn'
),

explained as (
    select
        measures.*,
        adjusted.q_value,
        detectable_difference(measures.standard_error, adjusted.n_tests::integer) as detectable_difference,
        coalesce(nights.noise_floor, repeated.noise_floor) as noise_floor,
        case
            when nights.noise_floor is not null then 'past_runs'
            when repeated.noise_floor is not null then 'repetitions'
            else 'unknown'
        end as noise_source,
        case
            when measures.model_id != measures.base_model_id then 'other_model'
            when measures.measure like 'accuracy%' then coalesce(attributed.cause, 'nothing_changed')
            else coalesce(attributed.cause_of_labels, 'nothing_changed') -- a judge scores, and reads no label
        end as cause,
        attributed.why,
        churned.is_other,
        -- the side on which more is worse
        case
            when split_part(measures.measure, ':', 1) in ('sensitivity', 'invalid_rate', 'accuracy_std', 'cost_usd', 'latency_ms')
                then measures.difference
            else -measures.difference
        end as worse_by
    from measures
    left join adjusted using (comparison_id, model_id, task_id, strategy, measure)
    left join attributed using (comparison_id, model_id, task_id, strategy)
    left join repeated using (comparison_id, model_id, task_id, strategy)
    left join nights using (comparison_id, model_id, task_id, strategy)
    left join churned using (comparison_id, model_id, task_id, strategy)
),

judged as (
    select
        *,
        case measure when 'cost_usd' then max_cost_increase when 'latency_ms' then max_latency_increase end as max_increase,
        case
            when reason is not null then 'not_comparable'
            when measure in ('cost_usd', 'latency_ms') then null
            when p_value is null then 'not_comparable'
            when q_value > 0.05 or abs(difference) < min_effect then 'within_noise'
            when measure = 'label_churn' then 'changed'
            when worse_by > 0 then 'regressed'
            else 'improved'
        end as tested
    from explained
)

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
    detectable_difference,
    case
        when tested is not null then tested
        when max_increase is null then 'not_judged'
        when candidate > base * (1 + max_increase) then 'regressed'
        when candidate < base * (1 - max_increase) then 'improved'
        else 'within_noise'
    end as verdict,
    case
        when reason is not null then reason
        when tested = 'not_comparable' then 'too little to test'
        when tested is null and max_increase is null then 'no threshold in the audit''s card'
        when cause = 'other_model' then 'two models'
        when why is not null then why
        else
            'nothing that was recorded changed: '
            || case
                when is_other is null then 'drift or noise, which nothing here tells apart'
                when is_other then 'drift, since the same cells are answered otherwise than when they are asked again'
                else 'noise, since the same cells differ no more than when they are asked again'
            end
            || coalesce(printf(' (%.1f %% of pairs)', 100 * noise_floor), '')
    end as reason,
    cause,
    noise_floor,
    noise_source,
    n_samples,
    n_variants,
    n_repetitions,
    {{ measure_version() }}
from judged
