-- Which samples change their label most with the wording, in each audit's newest run, and how their answers split.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
),

splits as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        string_agg(
            coalesce(label, '(no valid answer)') || ' ' || round(100 * p_tau) || ' %', ', '
            order by p_tau desc, label asc
        ) as answers
    from {{ ref('fct_p_tau') }}
    where p_tau > 0
    group by all
)

select
    newest.audit_id,
    found.model_id,
    found.task_id,
    found.strategy,
    found.sample_id,
    found.sensitivity,
    found.gold_label,
    splits.answers,
    left(samples.input, 200) as input
from {{ ref('fct_sensitivity') }} as found
inner join newest using (audit_run_id)
inner join splits using (audit_run_id, model_id, task_id, strategy, sample_id)
inner join {{ ref('dim_samples') }} as samples using (audit_run_id, task_id, sample_id)
where found.sensitivity > 0
order by
    found.sensitivity desc,
    newest.audit_id asc,
    found.task_id asc,
    found.sample_id asc,
    found.model_id asc,
    found.strategy asc
limit 20
