"""What the report asks of the published marts: each query is about one run (`$run`) and gives few rows."""

from __future__ import annotations

# texts are fetched with one character more than is shown (`left(…, $long)`), so that a cut is seen
TOP_SAMPLES = 20
EXAMPLES = 3
MOST_ROWS = 200

RUN = """
select *, (select seal from raw.seals where audit_run_id = $run order by seal_index desc limit 1) as seal
from marts.dim_audit_runs where audit_run_id = $run
"""

MODELS = """
select model_id, engine, model, fingerprint, input_usd_per_mtok, output_usd_per_mtok
from marts.dim_models where audit_run_id = $run order by model_id
"""

TASKS = """
select task_id, kind, level, fingerprint, labels, left(instruction, $long) as instruction,
    -- from the card, for copies that were published before the column was there
    coalesce(card ->> '$.sensitive' = 'true', false) as is_sensitive
from marts.dim_tasks where audit_run_id = $run order by task_id
"""

SCORECARD = "select * from marts.rpt_audit where audit_run_id = $run order by task_id, strategy, model_id"

# of each night of the audit (flows/history/nights.py): what the scorecard has and the section on nights prints
NIGHTLY = """
    found.audit_run_id, found.task_id, found.strategy, found.model_id, found.n_samples, found.n_variants,
    found.n_variants_quarantined, found.n_repetitions, found.measure_version, found.sensitivity,
    found.sensitivity_corrected, found.sensitivity_corrected_low, found.sensitivity_corrected_high,
    found.consistency, found.consistency_low, found.consistency_high,
    found.pss_inter, found.pss_inter_low, found.pss_inter_high, found.micro_f1, found.micro_f1_low, found.micro_f1_high,
    found.invalid_rate, found.invalid_rate_low, found.invalid_rate_high
"""

SENSITIVITY_BINS = """
select task_id, strategy, model_id, least(floor(sensitivity * 20), 19)::integer as bin, count(*) as n
from marts.fct_sensitivity where audit_run_id = $run and sensitivity is not null
group by all order by all
"""

CONSISTENCIES = """
select
    found.audit_run_id, found.task_id, found.strategy, found.model_id, found.gold_label, found.consistency,
    found.consistency_low, found.consistency_high, found.consistency_distinct, found.n_samples
from marts.fct_consistency as found
left join marts.dim_tasks as tasks using (audit_run_id, task_id)
where found.audit_run_id = $run
order by found.task_id, found.strategy, found.model_id, list_position(tasks.labels, found.gold_label), found.gold_label
"""

STABILITIES = """
select
    audit_run_id, task_id, strategy, model_id, scope, series, annotation_filter, paraphrase_temperature, n_annotators, pss,
    pss_low, pss_high, pss_wordings_low, pss_wordings_high, is_degenerate, n_samples, n_annotations, n_distinct_wordings
from marts.fct_prompt_stability
where
    audit_run_id = $run and annotation_filter in ('valid', 'verbatim')
    and (
        series = 'all' or scope = 'intra'
        or (series = 'cumulative' and scope = 'inter' and paraphrase_temperature is null)
    )
order by all
"""

VARIANTS = """
select prompt_variant_id, task_id, strategy, paraphrase_temperature, variant_index, is_original,
    left(instruction, $long) as instruction
from marts.dim_prompt_variants where audit_run_id = $run and not is_refused
order by task_id, strategy, paraphrase_temperature nulls first, variant_index, prompt_variant_id
"""

FORMATS = """
select
    task_id, strategy, model_id, prompt_variant_id,
    sum(n_planned)::bigint as n_planned, sum(n_landed)::bigint as n_landed, sum(n_missing)::bigint as n_missing,
    sum(n_valid)::bigint as n_valid, sum(n_empty)::bigint as n_empty, sum(n_truncated)::bigint as n_truncated,
    sum(n_refused)::bigint as n_refused, sum(n_unparsed)::bigint as n_unparsed, sum(n_error)::bigint as n_error,
    bool_or(is_quarantined) as is_quarantined, any_value(quarantine_reason) as quarantine_reason
from marts.fct_answer_formats where audit_run_id = $run
group by all order by all
"""

ACCURACIES = """
select
    audit_run_id, task_id, strategy, model_id, scoring_method, prompt_variant_id, accuracy, accuracy_scored, n_scored,
    n_unscored
from marts.fct_variant_accuracy where audit_run_id = $run and accuracy is not null
order by task_id, strategy, model_id, scoring_method, accuracy, prompt_variant_id
"""

# the newest check of a run holds, as in the marts; checks have no mart of their own
FAILED_CHECKS = f"""
select expectation, model_id, task_id, prompt_variant_id, observed, allowed, policy, action, left(reason,
$long) as reason,
    count(*) over () as n_failed
from raw.format_checks
where
    audit_run_id = $run and not is_success
    and checked_at = (select max(checked_at) from raw.format_checks where audit_run_id = $run)
order by observed - allowed desc, task_id, model_id, prompt_variant_id, expectation
limit {MOST_ROWS}
"""  # noqa: S608 - our own number

N_CHECKS = """
select count(*) as n_checks
from raw.format_checks
where
    audit_run_id = $run
    and checked_at = (select max(checked_at) from raw.format_checks where audit_run_id = $run)
"""

_TOP = f"""
with top as (
    select task_id, sample_id, avg(sensitivity) as sensitivity, max(gold_label) as gold_label
    from marts.fct_sensitivity where audit_run_id = $run and sensitivity is not null
    group by all having avg(sensitivity) > 0
    order by sensitivity desc, task_id, sample_id
    limit {TOP_SAMPLES}
)
"""  # noqa: S608 - our own number

TOP = f"""{_TOP}
select top.*, left(samples.input, $long) as input
from top
left join marts.dim_samples as samples
    on samples.audit_run_id = $run and samples.task_id = top.task_id and samples.sample_id = top.sample_id
order by top.sensitivity desc, top.task_id, top.sample_id
"""  # noqa: S608 - our own number

TOP_SENSITIVITIES = f"""{_TOP}
select found.task_id, found.sample_id, found.strategy, found.model_id, found.sensitivity
from marts.fct_sensitivity as found
semi join top on found.task_id = top.task_id and found.sample_id = top.sample_id
where found.audit_run_id = $run
order by found.task_id, found.sample_id, found.strategy, found.model_id
"""  # noqa: S608 - our own number

_ANSWERS = """
answers as (
    select
        said.task_id, said.sample_id, said.strategy, said.model_id,
        if(said.answer_status = 'valid', said.label, null) as label, left(said.completion, $long) as completion
    from marts.fct_predictions as said
    semi join top on said.task_id = top.task_id and said.sample_id = top.sample_id
    where said.audit_run_id = $run and not said.is_quarantined and said.answer_status <> 'error'
)
"""

TOP_LABELS = f"""{_TOP}, {_ANSWERS}
select task_id, sample_id, strategy, model_id, label, count(*) as n
from answers group by all order by task_id, sample_id, strategy, model_id, n desc, label nulls last
"""  # noqa: S608 - our own number

# an example of each label first, the commonest of each
TOP_EXAMPLES = f"""{_TOP}, {_ANSWERS},
counted as (
    select task_id, sample_id, strategy, model_id, label, completion, count(*) as n from answers group by all
),
ranked as (
    select *, row_number() over (
        partition by task_id, sample_id, strategy, model_id, label order by n desc, completion
    ) as place
    from counted
)
select task_id, sample_id, strategy, model_id, label, completion, n
from ranked
qualify row_number() over (
    partition by task_id, sample_id, strategy, model_id order by place, n desc, label nulls last
) <= {EXAMPLES}
order by task_id, sample_id, strategy, model_id, n desc, completion
"""  # noqa: S608 - our own number
