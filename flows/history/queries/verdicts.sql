-- The base of a night is the one before it, as when a night is compared
with pairs as (
    select
        nights.audit_run_id,
        max_by(earlier.audit_run_id, (earlier.started_at, earlier.audit_run_id)) as base_run_id
    from nights
    inner join marts.dim_audit_runs as own on nights.audit_run_id = own.audit_run_id and own.origin != 'trial'
    inner join dim_nights as earlier
        on
            own.audit_id = earlier.audit_id
            and earlier.night_number is not null
            and (earlier.started_at, earlier.audit_run_id) < (own.started_at, own.audit_run_id)
    group by all
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
