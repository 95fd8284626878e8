with pairs as (
    select
        audit_run_id,
        lag(audit_run_id) over (order by started_at, audit_run_id) as base_run_id
    from nights
),

requests as (
    select
        comparison_id,
        max(requested_at) as requested_at
    from raw.comparisons
    where not is_trial
    group by all
)

-- of several comparisons of one pair of nights the newest counts
select
    pairs.audit_run_id,
    verdicts.model_id,
    verdicts.task_id,
    verdicts.strategy,
    verdicts.measure,
    verdicts.verdict,
    verdicts.reason
from marts.rpt_run_comparisons as verdicts
inner join pairs on verdicts.candidate_run_id = pairs.audit_run_id and verdicts.base_run_id = pairs.base_run_id
inner join requests using (comparison_id)
where coalesce(verdicts.base_model_id, verdicts.model_id) = verdicts.model_id
qualify
    row_number() over (
        partition by pairs.audit_run_id, verdicts.model_id, verdicts.task_id, verdicts.strategy, verdicts.measure
        order by requests.requested_at desc, verdicts.comparison_id desc
    ) = 1
order by pairs.audit_run_id, verdicts.task_id, verdicts.strategy, verdicts.model_id, verdicts.measure
