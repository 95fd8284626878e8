-- of several comparisons with one run the newest counts; pinned baselines first, then the newest run
with requests as (
    select
        comparison_id,
        base_run_id,
        max(requested_at) as requested_at
    from raw.comparisons
    where candidate_run_id = $run and not is_trial
    group by all
),

bases as (
    select
        requests.comparison_id,
        requests.base_run_id,
        min(pinned.name) as baseline,
        any_value(runs.started_at) as base_started_at
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
    order by baseline is null, base_started_at desc nulls last, base_run_id asc limit $most_bases
)

select
    found.*,
    shown.baseline,
    shown.base_started_at
from marts.rpt_run_comparisons as found
inner join shown on found.comparison_id = shown.comparison_id
where coalesce(found.base_model_id, found.model_id) = found.model_id
order by
    shown.baseline is null, shown.base_started_at desc nulls last, shown.base_run_id asc, found.task_id asc, found.strategy asc,
    found.model_id asc, found.measure asc
