-- dots that fall on each other are one with a count
with samples as (
    select distinct
        task_id,
        sample_id
    from marts.fct_sensitivity
    where audit_run_id = $run and sensitivity is not null and mean_consistency is not null
),

chosen as (
    select
        task_id,
        sample_id
    from samples
    qualify row_number() over (
        partition by task_id
        order by md5((
            select seed from marts.dim_audit_runs
            where audit_run_id = $run
        ) || ':' || sample_id), sample_id
    ) <= $sampled
)

select
    found.task_id,
    found.model_id,
    found.strategy,
    round(found.sensitivity, 3) as sensitivity,
    round(found.mean_consistency, 3) as mean_consistency,
    count(*) as n
from marts.fct_sensitivity as found
semi join chosen on found.task_id = chosen.task_id and found.sample_id = chosen.sample_id
where found.audit_run_id = $run and found.sensitivity is not null and found.mean_consistency is not null
group by all
order by all
