"""What the report asks of the marts about answers: how many differ, how alike wordings are answered, what asking took."""

from __future__ import annotations

MOST_COMPARED = 2_000  # samples a task, for how far a wording's answers differ from the others'
MOST_ANSWERS = 60_000  # of originals, for PSS of a part of the samples

_SEED = "(select seed from marts.dim_audit_runs where audit_run_id = $run)"

# distinct completions of one wording and ask, as the mean over the original's ones, then over a temperature's variants and asks
DISTINCT_BY_REPETITION = """
select
    found.task_id, found.model_id, found.strategy, found.repetition, avg(found.n_distinct_completions) as n_distinct,
    avg(found.n_landed - found.n_error) as n_answers
from marts.fct_answer_formats as found
inner join marts.dim_prompt_variants as variants using (audit_run_id, prompt_variant_id)
where found.audit_run_id = $run and variants.is_original and found.n_landed > found.n_error
group by all order by all
"""

DISTINCT_BY_TEMPERATURE = """
select
    found.task_id, found.model_id, found.strategy, variants.paraphrase_temperature,
    avg(found.n_distinct_completions) as n_distinct, avg(found.n_landed - found.n_error) as n_answers,
    count(distinct found.prompt_variant_id) as n_variants
from marts.fct_answer_formats as found
inner join marts.dim_prompt_variants as variants using (audit_run_id, prompt_variant_id)
where
    found.audit_run_id = $run and not variants.is_original and variants.paraphrase_temperature is not null
    and found.n_landed > found.n_error
group by all order by all
"""

# 1 less the chance that two wordings give a sample the same label, N/A among them, as the mean over the other wordings and
# over samples; variants weigh equally whatever their repetitions
DISAGREEMENTS = f"""
with samples as (
    select found.task_id, found.sample_id
    from marts.dim_samples as found
    inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
    where found.audit_run_id = $run and tasks.kind is distinct from 'open_ended'
    qualify row_number() over (
        partition by found.task_id order by md5({_SEED} || ':' || found.sample_id), found.sample_id
    ) <= {MOST_COMPARED}
),

said as (
    select task_id, model_id, strategy, prompt_variant_id, sample_id, label, count(*) as n
    from marts.fct_predictions
    semi join samples using (task_id, sample_id)
    where audit_run_id = $run and not is_quarantined and answer_status <> 'error'
    group by all
),

cells as (
    select
        *, n / sum(n) over (partition by task_id, model_id, strategy, prompt_variant_id, sample_id) as p
    from said
),

summed as (
    select
        *, sum(p) over (partition by task_id, model_id, strategy, sample_id, label) as p_summed,
        sum(p) over (partition by task_id, model_id, strategy, sample_id) as n_variants
    from cells
),

compared as (
    select
        task_id, model_id, strategy, prompt_variant_id, sample_id,
        1 - sum(p * (p_summed - p)) / (any_value(n_variants) - 1) as disagreement
    from summed where n_variants > 1.5
    group by all
)

select task_id, model_id, strategy, prompt_variant_id, avg(disagreement) as disagreement, count(*) as n_samples
from compared
group by all order by all
"""  # noqa: S608 - our own words and numbers

COSTS = """
select
    task_id, model_id, strategy, count(*) as n_answers,
    sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens,
    sum(cost_usd) as cost_usd, count(cost_usd) as n_priced,
    quantile_cont(latency_ms, [0.25, 0.5, 0.75, 0.95]) as latencies, count(latency_ms) as n_timed,
    avg(n_attempts) as mean_attempts, max(n_attempts) as most_attempts,
    count(*) filter (n_attempts > 1) as n_retried, count(*) filter (answer_status = 'error') as n_error
from marts.fct_predictions where audit_run_id = $run
group by all order by task_id, model_id, strategy
"""

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
