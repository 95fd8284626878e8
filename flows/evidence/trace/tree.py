"""Prints a trace as a tree in the terminal: what people said stays text."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from flows.display.figures import cut, shown
from flows.evidence.trace.gather import Trace
from flows.lineage.columns.follow import Column
from flows.warehouse import Row

MOST = 5  # rows of a table; the JSON has all
WIDE = 90
DEEPEST = 3  # models below the figure; the JSON has all


def tree_of(found: Trace) -> Tree:
    """The figure, and below it each thing it rests on, in the order of the path: from the printed number to the machine."""
    top = Tree(_line(f"{found.figure} = {_value(found.value)}" if found.column else found.figure))
    formula = top.add(_line(f"formula: {found.description}"))
    formula.add(_line(f"dbt model {found.model_path}, measure version {found.measure_version}"))
    if found.lineage is not None:
        _add_column(formula.add(_line("made of")), found.lineage, depth=0)
        formula.add(_line("of raw columns " + ", ".join(found.lineage.raw_columns())))
    top.add(_line("row: " + ", ".join(f"{name}={row}" for name in found.grain for row in [_value(found.row[name])])))
    _add_rows(
        top,
        f"p_tau of {len({row['sample_id'] for row in found.p_tau})} samples",
        found.p_tau,
        ("sample_id", "label", "p_tau"),
    )
    answers = found.raw["predictions"]
    retired = " (their raw rows are in the archive)" if found.is_retired else ""
    columns = (
        "prediction_id",
        "model_id",
        "sample_id",
        "variant_index",
        "repetition",
        "answer_status",
        "label",
        "completion",
    )
    _add_rows(top, f"{found.n_answers:,} predictions{retired}", answers, columns)
    _add_rows(top, f"{len(found.raw['samples']):,} samples", found.raw["samples"], ("sample_id", "gold_label", "input"))
    variants = found.raw["prompt_variants"]
    _add_rows(
        top,
        f"{len(variants)} prompt variants",
        variants,
        ("prompt_variant_id", "variant_index", "paraphrase_temperature", "instruction"),
    )
    _add_rows(
        top,
        f"{len(found.raw.get('verdicts', ()))} rulings",
        found.raw.get("verdicts", []),
        ("verdict_id", "judge_id", "completion"),
    )
    models = ("model_id", "engine", "model", "fingerprint", "input_usd_per_mtok", "output_usd_per_mtok")
    _add_rows(top, "models, with prices", found.raw["models"], models)
    _add_rows(top, "served as", found.served, ("model_id", "served_model", "system_fingerprint", "n_answers"))
    _add_rows(top, "cards", found.raw["tasks"], ("task_id", "kind", "level", "reader", "fingerprint"))
    data = top.add(_line("data"))
    for task, held in found.manifest.get("data", {}).items():
        data.add(_line(f"{task}: {_value(held)}"))
    run = top.add(
        _line(
            f"run {found.run['audit_run_id']} of '{found.run['audit_id']}', {found.run['started_at']:%Y-%m-%d %H:%M} UTC"
        )
    )
    dirty = " with changes" if found.run["is_code_dirty"] else ""
    run.add(
        _line(
            f"code {found.run['code_version']}, commit {found.run['code_commit']}{dirty}, sha256 {found.manifest.get('code')}"
        )
    )
    run.add(_line(f"dbt project sha256 {found.manifest.get('dbt_project')}"))
    run.add(
        _line(
            f"seed {found.run['seed']}, {found.run['n_resamples']} resamples, libraries {found.run['library_versions']}"
        )
    )
    run.add(_line(f"seal {found.seal}"))
    return top


def _add_column(tree: Tree, column: Column, depth: int) -> None:
    made = f" = {cut(column.expression, WIDE)}" if column.expression else ""
    below = tree.add(_line(f"{column.name}{made}"))
    for child in column.children if depth < DEEPEST else ():
        if child.kind != "raw" and not child.is_repeated and child.use == "value":
            _add_column(below, child, depth + 1)


def _add_rows(top: Tree, head: str, rows: list[Row], columns: tuple[str, ...]) -> None:
    if not rows:
        return
    below = top.add(_line(head))
    for row in rows[:MOST]:
        below.add(
            _line(", ".join(f"{name}={cut(_value(row[name]), WIDE)}" for name in columns if row.get(name) is not None))
        )
    if len(rows) > MOST:
        below.add(_line(f"and {len(rows) - MOST:,} more: --json lists all"))


def _value(value: object) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, float) else str(value)


def _line(text: str) -> Text:
    return Text(shown(text))
