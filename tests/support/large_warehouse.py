"""A published copy of 100,000 samples under 30 wordings: its marts are made by SQL from rows of a small one."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from promptaudit.warehouse import Warehouse

N_SAMPLES = 100_000
N_VARIANTS = 30
RUN, MODEL, TASK, STRATEGY = "large", "harbour-small", "colours", "simple"
LABELS = "['red', 'green', 'blue', 'none of these']"
_THIS = f"model_id = '{MODEL}' and task_id = '{TASK}' and strategy = '{STRATEGY}'"
_GROUP = f"audit_run_id = $run and {_THIS}"
# what a row is made from: one of the small run's, with the columns replaced that tell rows apart
STEPS = (
    # the wordings: none in a temperature
    f"""create temp table variants as
    select template.* replace (
        '{RUN}' as audit_run_id, md5('v' || v) as prompt_variant_id, null as paraphrase_temperature, v as variant_index,
        v = 0 as is_original, 'Wording ' || v || ': which colour is meant?' as instruction)
    from (select * from marts.dim_prompt_variants where audit_run_id = $run and strategy = '{STRATEGY}'
          and task_id = '{TASK}' limit 1) as template, range({N_VARIANTS}) as numbers (v)""",
    # the harder a sample, the more of its answers go astray; one in fifty cannot be read
    f"""create temp table answers as
    select i, v, {LABELS}[1 + i % 4] as gold_label,
        case
            when hash(i, v, 'invalid') % 50 = 0 then null
            when hash(i, v, 'astray') % 1000 < hash(i, 'hard') % 800 then {LABELS}[1 + (i + 1 + (hash(i, v) % 3)::bigint) % 4]
            else {LABELS}[1 + i % 4]
        end as label
    from range({N_SAMPLES}) as samples (i), range({N_VARIANTS}) as numbers (v)""",
    f"""create temp table shares as
    select i, gold_label, label, count(*) / {N_VARIANTS} as p from answers group by all""",
    """create temp table spread as
    select i, gold_label, greatest(0, -sum(p * ln(p)) / ln(5)) as sensitivity, max(p) as top,
        coalesce(any_value(p) filter (label = gold_label), 0) as p_right
    from shares group by all""",
    f"""create temp table new_fct_predictions as
    select template.* replace (
        '{RUN}' as audit_run_id, md5(i || ' ' || v) as prediction_id, md5('v' || v) as prompt_variant_id,
        null as paraphrase_temperature, v as variant_index, v = 0 as is_original, 's' || i as sample_id, 1 as repetition,
        coalesce(answers.label, 'It depends.') as completion, answers.label as label, answers.gold_label as gold_label,
        if(answers.label is null, 'unparsed', 'valid') as answer_status,
        coalesce(answers.label = answers.gold_label, false) as is_correct,
        (20 + (hash(i, v) % 300)::bigint)::double as latency_ms, 40 as prompt_tokens, 3 as completion_tokens)
    from (select * from marts.fct_predictions where {_GROUP} and answer_status = 'valid' limit 1) as template, answers""",
    f"""create temp table new_fct_p_tau as
    select template.* replace (
        '{RUN}' as audit_run_id, 's' || i as sample_id, i as sample_index, shares.gold_label as gold_label,
        shares.label as label, coalesce(list_position({LABELS}, shares.label) - 1, -1) as label_index, p as p_tau,
        {N_VARIANTS} as n_variants)
    from (select * from marts.fct_p_tau where {_GROUP} limit 1) as template, shares""",
    f"""create temp table new_fct_sensitivity as
    select template.* replace (
        '{RUN}' as audit_run_id, 's' || i as sample_id, spread.gold_label as gold_label, spread.sensitivity as sensitivity,
        spread.sensitivity as sensitivity_valid, spread.sensitivity as sensitivity_corrected,
        (spread.top + spread.p_right) / 2 as mean_consistency, {N_VARIANTS} as n_variants,
        round(p_right * {N_VARIANTS})::integer as n_correct, {N_VARIANTS} as n_predictions)
    from (select * from marts.fct_sensitivity where {_GROUP} limit 1) as template, spread""",
    f"""create temp table new_dim_samples as
    select template.* replace (
        '{RUN}' as audit_run_id, 's' || i as sample_id, i as sample_index, 'A thing, number ' || i as input,
        {LABELS}[1 + i % 4] as gold_label)
    from (select * from marts.dim_samples where audit_run_id = $run and task_id = '{TASK}' limit 1) as template,
        range({N_SAMPLES}) as samples (i)""",
    "create temp table new_dim_prompt_variants as select * from variants",
    f"""create temp table new_fct_variant_accuracy as
    select template.* replace (
        '{RUN}' as audit_run_id, md5('v' || found.v) as prompt_variant_id, right_share as accuracy,
        right_share as accuracy_scored, n as n_scored, 0 as n_unscored)
    from (select * from marts.fct_variant_accuracy where {_GROUP} limit 1) as template,
        (select v, avg((label is not distinct from gold_label)::integer) as right_share, count(*) as n
         from answers group by all) as found""",
    f"""create temp table new_fct_answer_formats as
    select template.* replace (
        '{RUN}' as audit_run_id, md5('v' || found.v) as prompt_variant_id, 1 as repetition, n as n_planned, n as n_landed,
        0 as n_missing, found.n_valid as n_valid, 0 as n_empty, 0 as n_truncated, 0 as n_refused, n - found.n_valid as n_unparsed,
        0 as n_error, (n - found.n_valid) / n as invalid_rate, 5 as n_distinct_completions, false as is_breaking,
        null as breaking_reason)
    from (select * from marts.fct_answer_formats where {_GROUP} limit 1) as template,
        (select v, count(*) as n, count(label) as n_valid from answers group by all) as found""",
    f"""create temp table new_fct_consistency as
    select found.* replace ('{RUN}' as audit_run_id, {N_SAMPLES // 4} as n_samples)
    from marts.fct_consistency as found where {_GROUP}""",
    f"""create temp table new_fct_prompt_stability as
    select found.* replace ('{RUN}' as audit_run_id, {N_SAMPLES} as n_samples)
    from marts.fct_prompt_stability as found where {_GROUP}""",
    f"""create temp table new_rpt_prompt_variants as
    select template.* replace (
        '{RUN}' as audit_run_id, md5('v' || v) as prompt_variant_id, {N_SAMPLES} as n_samples_compared)
    from (select * from marts.rpt_prompt_variants where {_GROUP} limit 1) as template,
        range({N_VARIANTS}) as numbers (v)""",
    f"""create temp table new_rpt_distinct_answers as
    select found.* replace (
        '{RUN}' as audit_run_id, {N_SAMPLES} as answers_mean, 5 as distinct_completions_mean)
    from marts.rpt_distinct_answers as found where {_GROUP} and repetition = 1""",
    f"""create temp table new_rpt_accuracy_spreads as
    select found.* replace ('{RUN}' as audit_run_id, {N_VARIANTS} as n_variants)
    from marts.rpt_accuracy_spreads as found where {_GROUP}""",
    f"""create temp table new_rpt_answer_totals as
    select found.* replace (
        '{RUN}' as audit_run_id, {N_SAMPLES * N_VARIANTS} as n_answers, {N_SAMPLES * N_VARIANTS} as n_timed,
        40 * {N_SAMPLES * N_VARIANTS} as prompt_tokens, 3 * {N_SAMPLES * N_VARIANTS} as completion_tokens,
        170.0 as latency_p50_ms, 305.0 as latency_p95_ms)
    from marts.rpt_answer_totals as found where {_GROUP}""",
    f"""create temp table new_rpt_class_sensitivities as
    select found.* replace ('{RUN}' as audit_run_id, {N_SAMPLES // 4} as n_samples)
    from marts.rpt_class_sensitivities as found where {_GROUP}""",
    f"""create temp table new_rpt_sample_spreads as
    select found.* replace (
        '{RUN}' as audit_run_id, {N_SAMPLES} as n_samples, {N_SAMPLES} as n_compared, {N_SAMPLES} as n_correlated,
        (select avg(sensitivity) from spread) as sensitivity_mean)
    from marts.rpt_sample_spreads as found where {_GROUP}""",
    f"""create temp table new_rpt_stability_by_share as
    select found.* replace ('{RUN}' as audit_run_id, (found.sample_share * {N_SAMPLES})::integer as n_samples)
    from marts.rpt_stability_by_share as found where {_GROUP}""",
    f"""create temp table new_rpt_sample_similarities as
    select template.* replace (
        '{RUN}' as audit_run_id, '{MODEL}' as model_id, '{STRATEGY}' as strategy, {LABELS}[1] as gold_label,
        'lowest' as extreme, 's' || 4 * i as sample_id, 40 as n_samples, 780 as n_pairs)
    from (select * from marts.rpt_sample_similarities where audit_run_id = $run and task_id = '{TASK}' limit 1) as template,
        range(40) as samples (i)""",
    f"""create temp table new_rpt_sample_pairs as
    select template.* replace (
        '{RUN}' as audit_run_id, '{MODEL}' as model_id, '{STRATEGY}' as strategy, {LABELS}[1] as gold_label,
        'lowest' as extreme, 's' || 4 * i as sample_id, 's' || 4 * j as other_sample_id, i + 1 as place, j + 1 as other_place,
        (hash(i, j) % 1000)::bigint / 1000 as similarity)
    from (select * from marts.rpt_sample_pairs where audit_run_id = $run and task_id = '{TASK}' limit 1) as template,
        range(40) as samples (i), range(40) as others (j)
    where i < j""",
    f"""create temp table new_rpt_pair_distances as
    select found.* replace ('{RUN}' as audit_run_id, {N_SAMPLES // 4} as n_samples)
    from marts.rpt_pair_distances as found where {_GROUP}""",
    f"""create temp table new_rpt_measures_by_wordings as
    select found.* replace ('{RUN}' as audit_run_id, {N_SAMPLES} as n_samples)
    from marts.rpt_measures_by_wordings as found where {_GROUP}""",
    f"""create temp table new_fct_variations as
    select found.* replace ('{RUN}' as audit_run_id, {N_SAMPLES} as n_samples)
    from marts.fct_variations as found where {_GROUP}""",
    f"""create temp table new_rpt_audit as
    select found.* replace (
        '{RUN}' as audit_run_id, {N_SAMPLES} as n_samples, {N_SAMPLES} as n_samples_planned, {N_VARIANTS} as n_variants,
        {N_VARIANTS} as n_variants_answered, 0 as n_variants_breaking,
        1 as n_repetitions, {N_SAMPLES * N_VARIANTS} as n_planned, {N_SAMPLES * N_VARIANTS} as n_landed,
        (select avg(sensitivity) from spread) as sensitivity)
    from marts.rpt_audit as found where {_GROUP}""",
    *(
        f"create temp table new_{name} as select * replace ('{RUN}' as audit_run_id) from marts.{name} "
        f"where audit_run_id = $run and {only}"
        for name, only in {
            "dim_audit_runs": "true",
            "dim_models": f"model_id = '{MODEL}'",
            "dim_tasks": f"task_id = '{TASK}'",
        }.items()
    ),
)


def large(source: Path, audit_run_id: str, folder: Path) -> tuple[Path, str]:
    """A warehouse in the folder whose published copy holds the large run, and the run's name."""
    warehouse = folder / "audit.duckdb"
    copy = Warehouse(warehouse).published.path
    copy.parent.mkdir(parents=True)
    shutil.copy(Warehouse(source).published.path, copy)
    with duckdb.connect(str(copy)) as con:
        for step in STEPS:
            con.execute(step, {"run": audit_run_id} if "$run" in step else None)
        for (name,) in con.execute("select table_name from duckdb_tables() where table_name like 'new_%'").fetchall():
            con.execute(f"insert into marts.{name.removeprefix('new_')} select * from {name}")
    return warehouse, RUN
