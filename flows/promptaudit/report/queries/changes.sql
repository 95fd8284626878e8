-- Against normal nights, where the run is a night; else, and of pinned baselines, of several comparisons with one run the newest.
with verdicts as (
    select *
    from marts.rpt_night_verdicts
    where audit_run_id = $run and normal_run_id is not null
),

requests as (
    select
        comparison_id,
        base_run_id,
        max(requested_at) as requested_at
    from raw.comparisons
    where
        candidate_run_id = $run and not is_trial
        and coalesce(base_model_id, candidate_model_id, base_strategy, candidate_strategy) is null
    group by all
),

bases as (
    select
        requests.comparison_id,
        requests.base_run_id,
        min(pinned.name) as baseline,
        any_value(runs.started_at) as base_started_at,
        any_value(runs.run_index) as base_run_index
    from requests
    left join dim_baselines as pinned on requests.base_run_id = pinned.audit_run_id
    left join marts.dim_audit_runs as runs on requests.base_run_id = runs.audit_run_id
    group by requests.comparison_id, requests.base_run_id, requests.requested_at
    qualify row_number() over (
        partition by requests.base_run_id order by requests.requested_at desc, requests.comparison_id desc
    ) = 1
),

shown as (
    select * from bases
    -- beside normal nights there are pinned runs, and those whose cost an alarm is about
    where baseline is not null or base_run_id not in (select verdicts.normal_run_id from verdicts)
    order by baseline is null, base_run_index desc nulls last, base_run_id asc limit $most_bases
),

-- the comparison with the normal night of most figures says what was recorded otherwise
normal as (
    select
        verdicts.normal_run_id,
        any_value(bases.comparison_id) as comparison_id,
        any_value(runs.started_at) as base_started_at,
        any_value(runs.run_index) as base_run_index
    from verdicts
    left join bases on verdicts.normal_run_id = bases.base_run_id
    left join marts.dim_audit_runs as runs on verdicts.normal_run_id = runs.audit_run_id
    group by verdicts.normal_run_id
    order by count(*) desc, verdicts.normal_run_id asc
    limit 1
),

compared as (
    select
        found.*,
        null::varchar as audit_run_id,
        null::integer as n_nights_normal,
        null::varchar as normal_run_id,
        null::varchar as since_run_id,
        shown.baseline,
        shown.base_started_at,
        shown.base_run_index
    from marts.rpt_run_comparisons as found
    inner join shown on found.comparison_id = shown.comparison_id
    where (
        shown.baseline is not null or not exists (from verdicts) or found.measure in ('cost_usd', 'latency_ms')
    )
    union all by name
    select
        verdicts.* exclude (n_nights_told),
        verdicts.audit_run_id as candidate_run_id,
        verdicts.normal_run_id as base_run_id,
        verdicts.model_id as base_model_id,
        verdicts.strategy as base_strategy,
        coalesce(normal.comparison_id, 'nights') as comparison_id,
        null::varchar as baseline,
        normal.base_started_at,
        normal.base_run_index
    from verdicts
    cross join normal
)

select *
from compared
order by
    n_nights_normal is null, baseline is null, base_run_index desc nulls last, comparison_id asc, task_id asc, strategy asc,
    model_id asc, measure asc
