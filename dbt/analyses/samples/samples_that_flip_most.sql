-- Which samples get another label than the night before most often: the 50 that flip on most nights, over all nights of an audit.
with labels as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        any_value(gold_label) as gold_label,
        arg_max(coalesce(label, '(no valid answer)'), struct_pack(share := p_tau, tie := label)) as most_frequent_label
    from {{ ref('fct_p_tau') }}
    group by all
),

nights as (
    select
        nights.audit_id,
        nights.night_number,
        labels.*,
        before.most_frequent_label as label_before
    from labels
    inner join {{ ref('dim_nights') }} as nights using (audit_run_id)
    inner join labels as before
        on
            nights.previous_run_id = before.audit_run_id
            and labels.model_id = before.model_id
            and labels.task_id = before.task_id
            and labels.strategy = before.strategy
            and labels.sample_id = before.sample_id
)

select
    audit_id,
    model_id,
    task_id,
    strategy,
    sample_id,
    count(*) filter (most_frequent_label != label_before) as n_flips,
    count(*) as n_nights,
    arg_max(gold_label, night_number) as gold_label,
    arg_max(label_before, night_number) as label_before,
    arg_max(most_frequent_label, night_number) as label
from nights
group by all
having n_flips > 0
order by n_flips desc, n_nights asc, audit_id asc, model_id asc, task_id asc, strategy asc, sample_id asc
limit 50
