-- of each model, task and strategy four samples at most; right: no label is likelier than the gold label
with judged as (
    select
        found.task_id,
        found.model_id,
        found.strategy,
        found.sample_id,
        found.gold_label,
        found.sensitivity,
        found.mean_consistency,
        max(said.p_tau) filter (said.label = found.gold_label) >= max(said.p_tau) as is_right
    from marts.fct_sensitivity as found
    inner join marts.fct_p_tau as said using (audit_run_id, model_id, task_id, strategy, sample_id)
    where found.audit_run_id = $run and said.audit_run_id = $run and found.sensitivity is not null
    group by all
),

placed as (
    select
        *,
        row_number() over (partition by task_id, model_id, strategy, is_right order by sensitivity, sample_id) as place_alike,
        row_number() over (partition by task_id, model_id, strategy order by sensitivity, sample_id) as place,
        count(*) over (partition by task_id, model_id, strategy) as n
    from judged
),

with_roles as (
    select
        *,
        list_filter(
            [
                if(is_right and place_alike = 1, 'least, right', null),
                if(not is_right and place_alike = 1, 'least, wrong', null),
                if(is_right is null and place = 1, 'least', null),
                if(place = (n + 1) // 2, 'median', null),
                if(place = n, 'most', null)
            ],
            lambda role: role is not null
        ) as roles
    from placed
)

select
    with_roles.task_id,
    with_roles.model_id,
    with_roles.strategy,
    with_roles.sample_id,
    with_roles.gold_label,
    with_roles.sensitivity,
    with_roles.mean_consistency,
    with_roles.place,
    with_roles.roles,
    said.label,
    said.label_index,
    said.p_tau,
    said.audit_run_id
from with_roles
inner join marts.fct_p_tau as said using (model_id, task_id, strategy, sample_id)
where said.audit_run_id = $run and said.p_tau > 0 and len(with_roles.roles) > 0
order by
    with_roles.task_id, with_roles.model_id, with_roles.strategy, with_roles.place, with_roles.sample_id,
    if(said.label_index < 0, 1, 0), said.label_index
