"""What the report asks of the marts about answers: how many differ, what became of them, what they took."""

from __future__ import annotations

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

STABILITIES_BY_SHARE = "select * from marts.rpt_stability_by_share where audit_run_id = $run"
