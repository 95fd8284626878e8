-- One row per run, task and judge: how often the judge of tonight rules as is known, over its anchors.
with anchors as {{ of_this_build('fct_judge_anchors') }},

counted as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        count(*)::integer as n_anchors,
        count(difference)::integer as n_ruled,
        (count(*) filter (known_by = 'people'))::integer as n_known_by_people,
        (count(*) filter (difference = -1))::integer as n_too_harsh,
        (count(*) filter (difference = 1))::integer as n_too_mild,
        avg((difference = 0)::integer) as judge_agreement
    from anchors
    group by all
),

-- Wilson's interval of a share, at 95 %: it is in [0, 1], and no point where all agree
final as (
    select
        *,
        {%- for sign in ['-', '+'] %}
            (
                judge_agreement + 1.96 ^ 2 / (2 * n_ruled) {{ sign }} 1.96 * sqrt(
                    judge_agreement * (1 - judge_agreement) / n_ruled + 1.96 ^ 2 / (4 * n_ruled ^ 2)
                )
            ) / (1 + 1.96 ^ 2 / n_ruled) as judge_agreement_{{ 'low' if sign == '-' else 'high' }},
        {%- endfor %}
        {{ measure_version() }}
    from counted
)

select * from final
