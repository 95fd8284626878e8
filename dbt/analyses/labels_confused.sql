-- What is answered instead of the gold label, in each audit's newest run: one row per gold label and answer.
with newest as (
    select distinct audit_run_id, audit_id
    from {{ ref('rpt_latest') }}
)

select
    newest.audit_id,
    shares.model_id,
    shares.task_id,
    shares.strategy,
    shares.gold_label,
    coalesce(shares.label, '(no valid answer)') as answered,
    shares.label is not distinct from shares.gold_label as is_right,
    avg(shares.p_tau) as mean_share,
    count(*) filter (shares.p_tau > 0) as n_samples_with_it,
    count(*) as n_samples
from {{ ref('fct_p_tau') }} as shares
inner join newest using (audit_run_id)
where shares.gold_label is not null
-- a task may own a label spelled as the stand-in for none, so labels are grouped as they are
group by all, shares.label
having avg(shares.p_tau) > 0
order by newest.audit_id, shares.model_id, shares.task_id, shares.strategy, shares.gold_label, mean_share desc, answered
