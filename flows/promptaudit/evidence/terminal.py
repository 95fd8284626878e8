"""Draws what differs from the seals and what a figure rests on, for a terminal. Stored texts are not read as markup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from promptaudit.system.display.figures import cut, shown

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from promptaudit.evidence.trace.gather import Trace
    from promptaudit.evidence.verify.checks import Finding
    from promptaudit.evidence.verify.runs import RunSeal, VerifyResult
    from promptaudit.lineage.columns.follow import Column
    from promptaudit.warehouse import Row

MOST = 5  # rows of a table; the JSON has all
WIDE = 90
DEEPEST = 3  # models below the figure; the JSON has all
ANSWER = (
    "prediction_id",
    "model_id",
    "sample_id",
    "variant_index",
    "repetition",
    "answer_status",
    "label",
    "completion",
)
DESIGN = ("twice", "seed")
DEALT = ("prompt_variant_id", "repetition", "n_samples")
VARIANT = (
    "prompt_variant_id",
    "variant_index",
    "paraphrase_temperature",
    "variation",
    "setting",
    "instruction",
    "prompt",
)
PROMPT = ("prompt_variant_id", "sample_id", "messages")
ORDER = ("prompt_variant_id", "sample_id", "option_order")
MODEL = ("model_id", "engine", "model", "fingerprint", "input_usd_per_mtok", "output_usd_per_mtok")


def lines_of(result: VerifyResult) -> list[str]:
    """Lists everything that a terminal shows of a verification: findings, runs and notes, a line each."""
    return [*map(line_of_difference, result.findings), *map(_line_of_run, result.runs), *result.notes]


def line_of_difference(finding: Finding) -> str:
    """Writes a finding in one line. Control characters are escaped, and texts are never printed."""
    which = f" {finding.which}" if finding.which else ""
    detail = f": {finding.detail}" if finding.detail else ""
    return shown(f"{finding.kind}: {finding.what}{which} in {finding.where}{detail}")


def _line_of_run(run: RunSeal) -> str:
    rows = [f"{run.n_rows:,} rows"]
    if run.n_retired:
        rows.append(f"{run.n_retired:,} of them retired")
    if run.n_erased:
        rows.append(f"{run.n_erased:,} erased")
    seal = "no seal" if run.seal is None else f"seal {run.seal[:12]}"
    return f"{run.state}: run {run.audit_run_id} of '{run.audit_id}', {', '.join(rows)}, {seal}"


def tree_of(trace: Trace) -> Tree:
    """Draws a figure as a tree with all that it rests on below it, from its formula to the code and seal of its run."""
    from rich.tree import Tree

    from promptaudit.evidence.trace.command import RecomputedTrace

    top = Tree(_line(f"{trace.figure} = {_value(trace.value)}" if trace.column else trace.figure))
    formula = top.add(_line(f"formula: {trace.description}"))
    formula.add(_line(f"dbt model {trace.model_path}, measure version {trace.measure_version}"))
    if trace.lineage is not None:
        _add_column(formula.add(_line("made of")), trace.lineage, depth=0)
        formula.add(_line("of raw columns " + ", ".join(trace.raw_columns)))
    top.add(_line("row: " + ", ".join(f"{name}={_value(trace.row[name])}" for name in trace.grain)))
    n_samples = len({row["sample_id"] for row in trace.p_tau})
    _add_rows(top, f"p_tau of {n_samples} samples", trace.p_tau, ("sample_id", "label", "p_tau"))
    raw = trace.raw
    retired = " (their raw rows are in the archive)" if trace.is_retired else ""
    _add_rows(top, f"{trace.n_answers:,} predictions{retired}", raw["predictions"], ANSWER)
    _add_rows(top, f"{len(raw['samples']):,} samples", raw["samples"], ("sample_id", "gold_label", "input"))
    _add_rows(top, f"{len(raw['prompt_variants'])} prompt variants", raw["prompt_variants"], VARIANT)
    _add_prompts(top, trace)
    orders = raw["option_orders"]
    _add_rows(top, f"options of {len(orders):,} samples and variants in another order than the data", orders, ORDER)
    if raw["grid"]:
        _add_rows(top, "design", raw["designs"], DESIGN)
        dealt = [{**row, "n_samples": len(row["sample_ids"])} for row in raw["grid"]]
        _add_rows(top, f"{len(dealt)} asks of a part of the samples", dealt, DEALT)
    rulings = raw.get("verdicts", [])
    _add_rows(top, f"{len(rulings)} rulings", rulings, ("verdict_id", "judge_id", "completion"))
    _add_rows(top, "models, with prices", raw["models"], MODEL)
    _add_rows(top, "served as", trace.served, ("model_id", "served_model", "system_fingerprint", "n_answers"))
    _add_rows(top, "cards", raw["tasks"], ("task_id", "kind", "level", "reader", "fingerprint"))
    data = top.add(_line("data"))
    for task, files in trace.manifest.get("data", {}).items():
        data.add(_line(f"{task}: {_value(files)}"))
    _add_run(top, trace)
    if isinstance(trace, RecomputedTrace):
        verdict = "the same" if trace.agrees else "NOT the same"
        again = f"derived again from the listed rows alone: {trace.recomputed!r}, {verdict}"
        top.add(_line(again))
    return top


def _add_prompts(top: Tree, trace: Trace) -> None:
    # in full if they are the messages of one sample under one variant
    prompts = [{**row, "messages": json.dumps(row["messages"], ensure_ascii=False)} for row in trace.prompts[:MOST]]
    if len(prompts) == 1 and isinstance(trace.prompts[0]["messages"], list):
        below = top.add(_line("prompt as sent"))
        for message in trace.prompts[0]["messages"]:
            below.add(_line(f"{message['role']}: {message['content']}"))
    else:
        head = "prompts as sent" if trace.n_answers <= MOST else "prompts as sent, the first; --json lists all"
        _add_rows(top, head, prompts, PROMPT)
    if trace.prompts_note is not None:
        top.add(_line(trace.prompts_note))


def _add_run(top: Tree, trace: Trace) -> None:
    run, manifest = trace.run, trace.manifest
    at = f"{run['started_at']:%Y-%m-%d %H:%M} UTC"
    below = top.add(_line(f"run {run['audit_run_id']} of '{run['audit_id']}', {at}"))
    dirty = " with changes" if run["is_code_dirty"] else ""
    commit = f"commit {run['code_commit']}{dirty}, sha256 {manifest.get('code')}"
    below.add(_line(f"code {run['code_version']}, {commit}"))
    below.add(_line(f"dbt project sha256 {manifest.get('dbt_project')}"))
    seeds = f"seed {run['seed']}, {run['n_resamples']} resamples"
    below.add(_line(f"{seeds}, libraries {run['library_versions']}"))
    below.add(_line(f"seal {trace.seal}"))


def _add_column(tree: Tree, column: Column, depth: int) -> None:
    expression = f" = {cut(column.expression, WIDE)}" if column.expression else ""
    below = tree.add(_line(f"{column.name}{expression}"))
    for child in column.children if depth < DEEPEST else ():
        if child.kind != "raw" and not child.is_repeated and child.use == "value":
            _add_column(below, child, depth + 1)


def _add_rows(top: Tree, head: str, rows: list[Row], columns: tuple[str, ...]) -> None:
    if not rows:
        return
    below = top.add(_line(head))
    for row in rows[:MOST]:
        cells = [f"{name}={cut(_value(row[name]), WIDE)}" for name in columns if row.get(name) is not None]
        below.add(_line(", ".join(cells)))
    if len(rows) > MOST:
        below.add(_line(f"and {len(rows) - MOST:,} more: --json lists all"))


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, float) else str(value)


def _line(text: str) -> Text:
    from rich.text import Text

    return Text(shown(text))
