"""What the report asks of the marts about answers: how many differ, what became of them, what they took."""

from __future__ import annotations

MOST_ANSWERS = 60_000  # of originals, for PSS of a part of the samples

_SEED = "(select seed from marts.dim_audit_runs where audit_run_id = $run)"

DISTINCT_ANSWERS = """
select * from marts.rpt_distinct_answers where audit_run_id = $run
order by task_id, model_id, strategy, repetition, paraphrase_temperature
"""

PROMPT_VARIANTS = "select * from marts.rpt_prompt_variants where audit_run_id = $run"

ACCURACY_SPREADS = "select * from marts.rpt_accuracy_spreads where audit_run_id = $run"

ANSWER_TOTALS = "select * from marts.rpt_answer_totals where audit_run_id = $run order by task_id, model_id, strategy"

# tries that failed have no mart of their own; what the provider said stays there, its status is enough here
ATTEMPTS = """
select
    coalesce(said.task_id, 'other') as task_id, coalesce(said.model_id, 'other') as model_id, tries.http_status,
    count(*) as n_failed, count(distinct tries.prediction_id) as n_requests, sum(tries.waited_ms) / 1000 as waited_s
from raw.attempts as tries
left join marts.fct_predictions as said
    on said.audit_run_id = $run and tries.prediction_id = said.prediction_id
where tries.audit_run_id = $run
group by all order by all
"""

# asks of original wordings, as a list of labels a sample; of the first models, tasks and strategies that are not too many
ASKED_AGAIN = f"""
with asked as (
    select
        said.task_id, said.model_id, said.strategy, said.sample_id, said.paraphrase_temperature, said.prompt_variant_id,
        said.repetition, if(said.answer_status = 'valid', said.label, null) as label
    from marts.fct_predictions as said
    inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
    where
        said.audit_run_id = $run and said.is_original and not said.is_quarantined and said.answer_status <> 'error'
        and tasks.kind is distinct from 'open_ended'
),

few as (
    select task_id, model_id, strategy
    from asked
    group by task_id, model_id, strategy
    having count(*) > count(distinct sample_id)
    qualify sum(count(*)) over (order by task_id, model_id, strategy) <= {MOST_ANSWERS}
)

select
    asked.task_id, asked.model_id, asked.strategy, asked.sample_id,
    list(asked.label order by asked.paraphrase_temperature nulls first, asked.prompt_variant_id, asked.repetition) as labels
from asked
semi join few using (task_id, model_id, strategy)
group by asked.task_id, asked.model_id, asked.strategy, asked.sample_id
order by asked.task_id, asked.model_id, asked.strategy, md5({_SEED} || ':' || asked.sample_id), asked.sample_id
"""  # noqa: S608 - our own words and numbers
