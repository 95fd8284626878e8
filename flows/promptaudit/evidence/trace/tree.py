"""Draws what a figure rests on as a tree for a terminal. Stored texts are not read as markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from promptaudit.system.display.figures import cut, shown

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from promptaudit.evidence.trace.gather import Trace
    from promptaudit.lineage.columns.follow import Column
    from promptaudit.warehouse import Row

Branch: TypeAlias = "str | tuple[str, Iterable[Branch]]"
"""A line, with what stands below it."""
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


def tree_of(trace: Trace) -> Tree:
    """Draws a figure as a tree with all that it rests on below it, from its formula to the code and seal of its run."""
    from rich.tree import Tree

    top = Tree(_line(f"{trace.figure} = {_value(trace.value)}" if trace.column else trace.figure))
    _grow(top, _branches(trace))
    return top


def _grow(tree: Tree, branches: Iterable[Branch]) -> None:
    for branch in branches:
        if isinstance(branch, str):
            tree.add(_line(branch))
        else:
            _grow(tree.add(_line(branch[0])), branch[1])


def _branches(trace: Trace) -> Iterator[Branch]:
    from promptaudit.evidence.trace.command import RecomputedTrace

    formula: list[Branch] = [f"dbt model {trace.model_path}, measure version {trace.measure_version}"]
    if trace.lineage is not None:
        formula += [("made of", [_column(trace.lineage)]), f"of raw columns {', '.join(trace.raw_columns)}"]
    yield f"formula: {trace.description}", formula
    yield "row: " + ", ".join(f"{name}={_value(trace.row[name])}" for name in trace.grain)
    n_samples = len({row["sample_id"] for row in trace.p_tau})
    yield from _rows(f"p_tau of {n_samples} samples", trace.p_tau, ("sample_id", "label", "p_tau"))
    raw = trace.raw
    retired = " (their raw rows are in the archive)" if trace.is_retired else ""
    yield from _rows(f"{trace.n_answers:,} predictions{retired}", raw["predictions"], ANSWER)
    yield from _rows("{n} samples", raw["samples"], ("sample_id", "gold_label", "input"))
    yield from _rows("{n} prompt variants", raw["prompt_variants"], VARIANT)
    yield from _prompts(trace)
    head = "options of {n} samples and variants in another order than the data"
    yield from _rows(head, raw["option_orders"], ORDER)
    if raw["grid"]:
        yield from _rows("design", raw["designs"], DESIGN)
        dealt = [{**row, "n_samples": len(row["sample_ids"])} for row in raw["grid"]]
        yield from _rows("{n} asks of a part of the samples", dealt, DEALT)
    yield from _rows("{n} rulings", raw.get("verdicts", []), ("verdict_id", "judge_id", "completion"))
    yield from _rows("models, with prices", raw["models"], MODEL)
    yield from _rows("served as", trace.served, ("model_id", "served_model", "system_fingerprint", "n_answers"))
    yield from _rows("cards", raw["tasks"], ("task_id", "kind", "level", "reader", "fingerprint"))
    yield "data", [f"{task}: {_value(files)}" for task, files in trace.manifest.get("data", {}).items()]
    run = trace.run
    yield (
        f"run {run['audit_run_id']} of '{run['audit_id']}', {run['started_at']:%Y-%m-%d %H:%M} UTC",
        list(_code(trace)),
    )
    if isinstance(trace, RecomputedTrace):
        verdict = "the same" if trace.agrees else "NOT the same"
        yield f"derived again from the listed rows alone: {trace.recomputed!r}, {verdict}"


def _prompts(trace: Trace) -> Iterator[Branch]:
    # in full if they are the messages of one sample under one variant
    prompts = [{**row, "messages": json.dumps(row["messages"], ensure_ascii=False)} for row in trace.prompts[:MOST]]
    if len(prompts) == 1 and isinstance(trace.prompts[0]["messages"], list):
        messages = trace.prompts[0]["messages"]
        yield "prompt as sent", [f"{message['role']}: {message['content']}" for message in messages]
    else:
        head = "prompts as sent" if trace.n_answers <= MOST else "prompts as sent, the first; --json lists all"
        yield from _rows(head, prompts, PROMPT)
    if trace.prompts_note is not None:
        yield trace.prompts_note


def _code(trace: Trace) -> Iterator[str]:
    run, manifest = trace.run, trace.manifest
    dirty = " with changes" if run["is_code_dirty"] else ""
    yield f"code {run['code_version']}, commit {run['code_commit']}{dirty}, sha256 {manifest.get('code')}"
    yield f"dbt project sha256 {manifest.get('dbt_project')}"
    yield f"seed {run['seed']}, {run['n_resamples']} resamples, libraries {run['library_versions']}"
    yield f"seal {trace.seal}"


def _column(column: Column, depth: int = 0) -> Branch:
    expression = f" = {cut(column.expression, WIDE)}" if column.expression else ""
    children = column.children if depth < DEEPEST else ()
    values = [each for each in children if each.kind != "raw" and not each.is_repeated and each.use == "value"]
    return f"{column.name}{expression}", [_column(each, depth + 1) for each in values]


def _rows(head: str, rows: list[Row], columns: tuple[str, ...]) -> Iterator[Branch]:
    lines = []
    for row in rows[:MOST]:
        cells = [f"{name}={cut(_value(row[name]), WIDE)}" for name in columns if row.get(name) is not None]
        lines.append(", ".join(cells))
    if len(rows) > MOST:
        lines.append(f"and {len(rows) - MOST:,} more: --json lists all")
    if lines:
        yield head.replace("{n}", f"{len(rows):,}"), lines


def _value(value: object) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, float) else str(value)


def _line(text: str) -> Text:
    from rich.text import Text

    return Text(shown(text))
