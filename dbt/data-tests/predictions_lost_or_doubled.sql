-- Would catch an inner join on a sample or variant that never landed, which drops answers without a word, and a grid
-- that leaves out a repetition, which measures answers it does not count.
with landed as (
    select
        audit_run_id,
        count(*) as n_landed
    from {{ ref('stg_predictions') }}
    where {{ in_this_build() }}
    group by all
),

published as (
    select
        audit_run_id,
        count(*) as n_published
    from {{ ref('fct_predictions') }}
    where {{ in_this_build() }}
    group by all
),

counted as (
    select
        audit_run_id,
        sum(n_landed) as n_counted
    from {{ ref('rpt_audit') }}
    where {{ in_this_build() }}
    group by all
)

select
    landed.audit_run_id,
    landed.n_landed,
    published.n_published,
    counted.n_counted
from landed
left join published using (audit_run_id)
left join counted using (audit_run_id)
where
    landed.n_landed is distinct from published.n_published
    or landed.n_landed is distinct from counted.n_counted
