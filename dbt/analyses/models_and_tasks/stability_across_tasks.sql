-- PSS of all tasks side by side, the most stable first, in each audit's newest run: of the asks of one prompt (intra) and of its
-- rewordings (inter, the mean over paraphrase temperatures), with 95 % intervals and whether they lie above .8.
with newest as (
    select audit_run_id from {{ ref('dim_nights') }}
    where is_newest
)

select
    if(found.measure = 'pss_intra', 'intra', 'inter') as scope,
    rank() over (
        partition by found.measure, found.model_id, found.strategy order by found.value desc
    ) as place,
    found.task_id,
    found.model_id,
    found.strategy,
    found.value as pss,
    found.value_low as pss_low,
    found.value_high as pss_high,
    case
        when found.value_low >= 0.8 then 'above .8'
        when found.value_high < 0.8 then 'below .8'
        else 'undecided'
    end as reading,
    found.audit_id
from {{ ref('rpt_measures_across_tasks') }} as found
inner join newest using (audit_run_id)
where found.measure in ('pss_intra', 'pss_inter') and found.value is not null
order by scope desc, found.model_id asc, found.strategy asc, place asc, found.task_id asc, found.audit_id asc
