"""Gathers what a figure rests on, from the published copy alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from promptaudit.evidence.trace.scope import COMPARED, JUDGED, is_of_meaning, is_ruled, scope_of
from promptaudit.lineage.columns.follow import Column, lineage_of
from promptaudit.marts.digests import columns_of
from promptaudit.prompts.as_sent import OTHERWISE, SentPrompts
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system.display.encode import encoded_property
from promptaudit.system.display.policy import LEFT_OUT, TEXTS, Policy, Texts, sides_of
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.figure_names import grains, parse_figure, project_models, row_id
from promptaudit.warehouse.selection import Selection
from promptaudit.warehouse.sql import over, sql

RETIRED = "select * from labelled order by audit_run_id, prediction_id limit $most"
BESIDE = {  # the tables that describe what was asked, and the columns by which they belong to the answers
    "models": ("model_id",),
    "tasks": ("task_id",),
    "task_labels": ("task_id",),
    "samples": ("task_id", "sample_id"),
    "prompt_variants": ("prompt_variant_id",),
    "designs": (),
    "grid": ("prompt_variant_id",),
    "option_orders": ("prompt_variant_id", "sample_id"),
}
OF_ROW = ("model_id", "task_id", "strategy", "prompt_variant_id", "sample_id")
CHECKS = "select * from raw.format_checks where list_contains($runs, audit_run_id) order by all limit $most"
COMPARISONS = "select * from raw.comparisons where comparison_id = $comparison"
MOST_P_TAU = 200
ALL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A figure and what it rests on. `raw` holds rows of schema raw by table, in the order of the path.

    `prompts` has a row for each listed prompt variant and sample whose `messages` are known as they were sent.
    """

    figure: str
    mart: str
    column: str | None
    value: Any
    row: Row
    measure_version: int | None
    description: str
    model_path: str
    grain: tuple[str, ...]
    lineage: Column | None
    run: Row
    seal: str | None
    manifest: Row
    p_tau: list[Row]
    raw: dict[str, list[Row]]
    served: list[Row]
    n_answers: int
    is_retired: bool
    texts: str
    other_runs: list[Row] = field(default_factory=list)
    prompts: list[Row] = field(default_factory=list)
    prompts_note: str | None = None  # why some answers have no prompt there

    @encoded_property
    def raw_columns(self) -> list[str]:
        """Lists the raw columns that the figure is made of, as `raw.<table>.<column>`. Empty without its lineage."""
        return [] if self.lineage is None else self.lineage.raw_columns()


def trace(
    warehouse: Warehouse,
    figure: str,
    text: Policy | None = None,
    *,
    with_lineage: bool = True,
    most: int | None = None,
    most_prompts: int | None = None,
) -> Trace:
    """Gathers what a figure, or a whole row of a mart, rests on.

    `most` limits the answers and samples that are listed; without it all are. The prompts of the first `most_prompts`
    of these answers are put together as they were sent; without it the prompts of all are. `text` none leaves inputs,
    completions and prompts out, excerpt and full have them; the default is full, and none for tasks marked sensitive.
    `with_lineage` follows the column to raw columns, which compiles the project once.

    Raises:
        UsageError: the name is no figure's, or no row of the published copy has it; the nearest mart is named.
        WarehouseError: nothing is published.
    """
    mart, column, _ = parse_figure(figure)
    with warehouse.published.connect() as con:
        row = _row(con, figure, mart, column)
        return trace_row(con, figure, row, text, with_lineage=with_lineage, most=most, most_prompts=most_prompts)


def trace_row(
    con: Connection,
    figure: str,
    row: Row,
    text: Policy | None,
    *,
    with_lineage: bool = False,
    most: int | None = None,
    most_prompts: int | None = None,
    prompts_of: Callable[[str], SentPrompts] | None = None,
) -> Trace:
    """Gathers what `trace` does, for a row of a mart that the caller has read, on an open copy.

    `prompts_of` gives the prompts of a run, which are read once for many rows.
    """
    mart, column, _ = parse_figure(figure)
    compared = rows_of(con, COMPARISONS, comparison=row["comparison_id"]) if mart in COMPARED else []
    whose = {name: compared[0][name] for name in ("base_model_id", "base_strategy")} | row if compared else row
    where, parameters = scope_of(mart, column, whose)
    runs = rows_of(
        con, "select * from raw.audit_runs where list_contains($runs, audit_run_id)", runs=parameters["runs"]
    )
    runs.sort(key=lambda row: parameters["runs"].index(row["audit_run_id"]))
    run = runs[-1]  # the candidate, if it is a comparison
    listed = {**parameters, "most": ALL if most is None else most}
    labelled = f"select * from marts.fct_predictions where {where}"  # noqa: S608 - ours
    answers = rows_of(con, over(sql("evidence", "traced_answers"), labelled=labelled), **listed)
    is_retired = not answers and bool(answers := rows_of(con, over(RETIRED, labelled=labelled), **listed))
    served = rows_of(con, over(sql("evidence", "traced_models"), labelled=labelled), **parameters)
    texts = Texts(text, _sensitive(con, parameters["runs"]))
    raw = {"predictions": answers, **_asked(con, row, where, listed)}
    if mart in JUDGED or mart in COMPARED or is_ruled(row) or is_of_meaning(column, row):
        raw |= _rulings(con, parameters["runs"], answers)
        raw["prompt_variants"] += _ruled_wordings(con, parameters["runs"], raw)
    if compared:
        raw["comparisons"] = compared
    raw["format_checks"] = rows_of(con, CHECKS, runs=parameters["runs"], most=listed["most"])
    tasks = {answer["prediction_id"]: answer["task_id"] for answer in answers}
    tasks |= {each["control_id"]: each["task_id"] for each in raw.get("judge_controls", ())}
    prompts, note = _prompts(prompts_of or partial(SentPrompts, con), parameters["runs"], answers[:most_prompts])
    prompts = [_with_texts(each, texts, tasks) for each in prompts]
    for name, rows in raw.items():
        raw[name] = [_with_texts(each, texts, tasks) for each in rows]
    row, value = _with_texts(row, texts, tasks), None if column is None else row[column]
    if column is not None and row[column] == LEFT_OUT:
        value = LEFT_OUT
    if any(texts.of(task["task_id"]) == "none" for task in raw["tasks"]):
        runs = [{**each, **{name: LEFT_OUT for name in ("card", "source") if each.get(name)}} for each in runs]
        run = runs[-1]
    about, columns, model_path = described(mart)
    return Trace(
        figure=figure,
        mart=mart,
        column=column,
        value=value,
        row=row,
        measure_version=row.get("measure_version"),
        model_path=model_path,
        description=about if column is None else columns.get(column, ""),
        grain=grains()[mart],
        lineage=lineage_of(mart, column) if column is not None and with_lineage else None,
        run=run,
        seal=_seal(con, run["audit_run_id"]),
        manifest=json.loads(run.pop("manifest") or "{}"),
        p_tau=_p_tau(con, whose, parameters["runs"], answers),
        raw=raw,
        served=served,
        n_answers=sum(each["n_answers"] for each in served),
        is_retired=is_retired,
        texts=texts.summary,
        other_runs=runs[:-1] if mart in COMPARED else [],
        prompts=prompts,
        prompts_note=note,
    )


def _row(con: Connection, figure: str, mart: str, column: str | None) -> Row:
    # a name has a hash of the row's key, so the names of all rows are compared with it one by one
    columns = columns_of(con, Selection(relation=f"marts.{mart}"))
    if column is not None and column not in columns:
        msg = f"marts.{mart} has no column {column!r}{nearest(column, columns)}"
        raise UsageError(msg)
    grain = ", ".join(f'"{name}"' for name in grains()[mart])
    wanted = figure if column is None else figure.replace(f".{column}.", ".", 1)
    for row in rows_of(con, f"select distinct {grain} from marts.{mart}"):  # noqa: S608 - our own names
        if row_id(mart, row) == wanted:
            same = " and ".join(f'"{name}" is not distinct from ${name}' for name in row)
            return rows_of(con, f"select * from marts.{mart} where {same}", **row)[0]  # noqa: S608 - our own names
    msg = f"no row of marts.{mart} is {wanted}: is it of another warehouse, or of a run that is not published?"
    raise UsageError(msg)


def _asked(con: Connection, row: Row, where: str, listed: Row) -> dict[str, list[Row]]:
    # what was asked of whom, answered or not: also rows of the row's own task, strategy, variant and model
    tables: dict[str, list[Row]] = {}
    for table, keys in BESIDE.items():
        columns = columns_of(con, Selection(relation=f"raw.{table}"))
        known = {name: row[name] for name in OF_ROW if name in columns and row.get(name) is not None}
        names = ", ".join(("audit_run_id", *keys))
        own = " and ".join(f"{name} = ${name}" for name in known) or "true"
        query = (
            f"select * from raw.{table} where list_contains($runs, audit_run_id) and "  # noqa: S608 - ours
            f"(({names}) in (select ({names}) from marts.fct_predictions where {where}) or ({bool(known)} and {own})) "
            "order by all limit $most"
        )
        most = listed["most"] if table in ("samples", "option_orders") else ALL
        tables[table] = rows_of(con, query, **{**listed, **known, "most": most})
    return tables


def _rulings(con: Connection, runs: Sequence[str], answers: Sequence[Row]) -> dict[str, list[Row]]:
    ids = sorted({answer["prediction_id"] for answer in answers})
    own, of_runs = {"runs": list(runs)}, "where list_contains($runs, audit_run_id)"
    own_ids = "control_id is not null or prompt_variant_id is not null or list_contains($ids, prediction_id)"
    of_answers = f"{of_runs} and ({own_ids})"
    return {
        "verdicts": rows_of(con, f"select * from raw.verdicts {of_answers} order by verdict_id", **own, ids=ids),  # noqa: S608 - ours
        "judges": rows_of(con, f"select * from raw.judges {of_runs} order by all", **own),  # noqa: S608
        "judge_controls": rows_of(con, f"select * from raw.judge_controls {of_runs} order by all", **own),  # noqa: S608
    }


def _ruled_wordings(con: Connection, runs: Sequence[str], raw: dict[str, list[Row]]) -> list[Row]:
    # a ruling on a rewording may name the variant with an equal text of another strategy, which is not listed yet
    there = {row["prompt_variant_id"] for row in raw["prompt_variants"]}
    ids = sorted({row["prompt_variant_id"] for row in raw["verdicts"] if row["prompt_variant_id"]} - there)
    of = "where list_contains($runs, audit_run_id) and list_contains($ids, prompt_variant_id) order by all"
    return rows_of(con, f"select * from raw.prompt_variants {of}", runs=list(runs), ids=ids)  # noqa: S608 - ours


def _prompts(
    prompts_of: Callable[[str], SentPrompts], runs: Sequence[str], answers: Sequence[Row]
) -> tuple[list[Row], str | None]:
    # one row for each prompt variant and sample; the note says why some answers have none
    prompts: dict[tuple[str, ...], Row] = {}
    n_otherwise = 0
    for run in runs:
        own = [answer for answer in answers if answer["audit_run_id"] == run]
        sent = prompts_of(run)
        n_before = sent.n_otherwise
        for answer, shown in zip(own, sent.shown(own), strict=True):
            if shown is not None:
                cell = {name: answer[name] for name in ("audit_run_id", "task_id", "prompt_variant_id", "sample_id")}
                messages = [{"role": role, "content": content} for role, content in shown.messages]
                prompts[tuple(cell.values())] = {**cell, "messages": messages}
        n_otherwise += sent.n_otherwise - n_before
    note = f"the prompts of {n_otherwise:,} answers are not shown as they were sent: {OTHERWISE}"
    return list(prompts.values()), note if n_otherwise else None


def _with_texts(row: Row, texts: Texts, tasks: dict[str, str]) -> Row:
    # a ruling belongs to the task of its answer or control
    task = row.get("task_id") or tasks.get(row.get("prediction_id") or row.get("control_id") or "")
    if texts.of(task or "") != "none":
        return row
    columns = {
        *TEXTS,
        *sides_of(row),
        "prompt",
        "fields",
        "error",
        "reason",
        "card",
        "setting",
        "token_logprobs",
        "messages",
    }
    return {name: LEFT_OUT if name in columns and value is not None else value for name, value in row.items()}


def _sensitive(con: Connection, runs: Sequence[str]) -> frozenset[str]:
    # a task is sensitive if the card of any of these runs marks it
    query = (
        "select distinct task_id from raw.tasks "
        "where list_contains($runs, audit_run_id) and coalesce((card ->> 'sensitive')::boolean, false)"
    )
    return frozenset(row["task_id"] for row in rows_of(con, query, runs=list(runs)))


def described(mart: str) -> tuple[str, dict[str, str], str]:
    """Looks up the project's description of a mart and of each of its columns, and the file that has its SQL."""
    path, model = project_models()[mart]
    columns = {each["name"]: each["description"] for each in model["columns"]}
    return model["description"], columns, path.with_suffix(".sql").relative_to(dbt_project()).as_posix()


def _seal(con: Connection, run: str) -> str | None:
    query = "select seal from raw.seals where audit_run_id = $run order by seal_index desc limit 1"
    rows = rows_of(con, query, run=run)
    return str(rows[0]["seal"]) if rows else None


def _p_tau(con: Connection, row: Row, runs: Sequence[str], answers: Sequence[Row]) -> list[Row]:
    # only where the figure is about one group and few samples
    names = ("model_id", "task_id", "strategy")
    samples = sorted({answer["sample_id"] for answer in answers})
    if any(row.get(name) is None for name in names) or not 0 < len(samples) <= MOST_P_TAU:
        return []
    group = {"task": row["task_id"], "samples": samples}
    models, strategies = (
        sorted({row[name], row.get(f"base_{name}") or row[name]}) for name in ("model_id", "strategy")
    )
    held = {"runs": list(runs), "models": models, "strategies": strategies}
    return rows_of(con, sql("evidence", "traced_p_tau"), **(group | held))
