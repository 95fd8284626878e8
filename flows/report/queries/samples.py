"""What the report asks of the marts about single samples: each query is about one run (`$run`) and gives few rows.

A sample is chosen by the smallest md5 of the run's seed and its name: the same ones on every machine, no matter how many
others there are.
"""

from __future__ import annotations

SAMPLED = 150  # dots a model and strategy
N_BINS = 50  # of a density

_SEED = "(select seed from marts.dim_audit_runs where audit_run_id = $run)"
# models of this program that answer by chance, or as another one does with errors of a known share
REFERENCES = """
select model_id, model as kind
from marts.dim_models
where audit_run_id = $run and engine = 'embedded' and model in ('random', 'noisy')
order by kind desc, model_id
"""

CLASS_SENSITIVITIES = """
select found.*
from marts.rpt_class_sensitivities as found
left join marts.dim_tasks as tasks using (audit_run_id, task_id)
where found.audit_run_id = $run
order by
    found.task_id, found.model_id, list_position(tasks.labels, found.gold_label), found.gold_label, found.strategy
"""

SAMPLE_SPREADS = "select * from marts.rpt_sample_spreads where audit_run_id = $run order by task_id, model_id, strategy"

# dots that fall on each other are one with a count
CLOUDS = f"""
with samples as (
    select distinct task_id, sample_id
    from marts.fct_sensitivity
    where audit_run_id = $run and sensitivity is not null and mean_consistency is not null
),

chosen as (
    select task_id, sample_id from samples
    qualify row_number() over (partition by task_id order by md5({_SEED} || ':' || sample_id), sample_id) <= {SAMPLED}
)

select
    found.task_id, found.model_id, found.strategy,
    round(found.sensitivity, 3) as sensitivity, round(found.mean_consistency, 3) as mean_consistency, count(*) as n
from marts.fct_sensitivity as found
semi join chosen on found.task_id = chosen.task_id and found.sample_id = chosen.sample_id
where found.audit_run_id = $run and found.sensitivity is not null and found.mean_consistency is not null
group by all order by all
"""  # noqa: S608 - our own words and numbers

# of each model, task and strategy four samples at most; right: no label is likelier than the gold label
TELLING = """
with judged as (
    select
        found.task_id, found.model_id, found.strategy, found.sample_id, found.gold_label, found.sensitivity,
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

telling as (
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
            lambda role : role is not null
        ) as roles
    from placed
)

select
    telling.task_id, telling.model_id, telling.strategy, telling.sample_id, telling.gold_label, telling.sensitivity,
    telling.mean_consistency, telling.place, telling.roles, said.label, said.label_index, said.p_tau, said.audit_run_id
from telling
inner join marts.fct_p_tau as said using (model_id, task_id, strategy, sample_id)
where said.audit_run_id = $run and said.p_tau > 0 and len(telling.roles) > 0
order by
    telling.task_id, telling.model_id, telling.strategy, telling.place, telling.sample_id,
    if(said.label_index < 0, 1, 0), said.label_index
"""

CONSISTENCY_BINS = f"""
select
    task_id, model_id, strategy, least(floor(mean_consistency * {N_BINS}), {N_BINS - 1})::integer as bin, count(*) as n
from marts.fct_sensitivity where audit_run_id = $run and mean_consistency is not null
group by all order by all
"""  # noqa: S608 - our own words and numbers

# of each task the class that is treated least alike, with the labels of its samples
PAIRS = """
select found.*, said.label, said.label_index, said.p_tau
from marts.rpt_sample_similarities as found
inner join marts.fct_p_tau as said using (audit_run_id, model_id, task_id, strategy, sample_id)
where found.audit_run_id = $run and said.audit_run_id = $run and said.p_tau > 0
order by found.task_id, found.sample_id, said.label_index
"""
