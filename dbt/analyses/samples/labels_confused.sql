-- What is answered instead of the gold label, in each audit's newest run: one row per gold label and answer.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
),

averaged as (
    select
        newest.audit_id,
        shares.model_id,
        shares.task_id,
        shares.strategy,
        shares.gold_label,
        shares.label,
        avg(shares.p_tau) as mean_share,
        count(*) filter (shares.p_tau > 0) as n_samples_with_it,
        count(*) as n_samples
    from {{ ref('fct_p_tau') }} as shares
    inner join newest using (audit_run_id)
    where shares.gold_label is not null
    group by all
)

select
    audit_id,
    model_id,
    task_id,
    strategy,
    gold_label,
    coalesce(label, '(no valid answer)') as answered,
    coalesce(label = gold_label, false) as is_right,
    mean_share,
    n_samples_with_it,
    n_samples
from averaged
where mean_share > 0
order by audit_id asc, model_id asc, task_id asc, strategy asc, gold_label asc, mean_share desc, answered asc
