"""Gathers the content of the page about a comparison from the published marts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptaudit.gate.alerts.problems import figures_of
from promptaudit.marts.comparison.result import NEWS, ComparedRun, RunComparison
from promptaudit.registry.mart_columns import compared_column
from promptaudit.report.ask_copy import Copy
from promptaudit.report.summary_causes import Cause, differences_of
from promptaudit.report.summary_example import Example, flip_of
from promptaudit.report.summary_worst import UNSCALED, label_of
from promptaudit.system.display.compared import Compared
from promptaudit.system.display.movement import IN_BASE, confused_in_words, place_of
from promptaudit.system.display.policy import Policy, Texts
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.figure_names import figure_id

MOST_GROUPS = 3  # that an example is looked for in
OF_THE_MODEL = {"we_changed_the_model", "provider_changed_the_model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: its run, and its name if two models or strategies are compared."""

    name: str  # base, candidate
    run: ComparedRun
    called: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonData:
    """The content of the page.

    Texts of the example are cut and safe to print; a page escapes them as any other text.
    """

    comparison: RunComparison
    sides: tuple[Side, Side]
    causes: list[Cause]
    largest: Largest | None
    moved: str | None  # the confusion that grew most, in the words of the task
    example: Example | None


def gather(warehouse: Warehouse, comparison: RunComparison, text: Policy | None = None) -> ComparisonData:
    """Gathers the page's content for a comparison with rows.

    A text is left out if `text` or the cards of either run say so.
    """
    sides = [
        Side(name=name, run=run, called=called)
        for name, run, called in zip(("base", "candidate"), comparison.runs, comparison.names, strict=True)
    ]
    with warehouse.published.connect() as con:
        copy = _copy_of_both(con, warehouse, comparison, Texts(text))
        shown = _with_texts(comparison, copy.texts)
        are_models = any(each.base_model_id not in (None, each.model_id) for each in comparison.figures)
        recorded = [row for row in shown.changes if not (are_models and row["cause"] in OF_THE_MODEL)]
        largest = largest_of(shown.measures)
        return ComparisonData(
            comparison=shown,
            sides=(sides[0], sides[1]),
            # the confusion stands once on the page, beneath the picture
            causes=differences_of(
                [{**row, "n_moved": None} for row in shown.measures if row["verdict"] in NEWS], recorded
            ),
            largest=largest,
            moved=_moved(shown, largest),
            example=_example(copy, shown, (sides[0], sides[1])),
        )


def _moved(comparison: RunComparison, largest: Largest | None) -> str | None:
    # the confusion of the group with the largest difference goes before others
    place = None if largest is None else _group(largest.row)
    grown = sorted(comparison.moved, key=lambda confusion: confusion.group != place)
    if not grown:
        return None
    said = confused_in_words(grown[0], IN_BASE)
    return said if grown[0].group == place else f"{place_of(grown[0])}: {said}"


def _copy_of_both(con: Connection, warehouse: Warehouse, comparison: RunComparison, texts: Texts) -> Copy:
    # the candidate's copy, with texts left out that the cards of either run mark as sensitive
    base, candidate = (run.audit_run_id for run in comparison.runs)
    copy = Copy(con, warehouse, candidate, texts)
    copy.texts.sensitive |= copy.sensitive_of(base)
    return copy


def _with_texts(comparison: RunComparison, texts: Texts) -> RunComparison:
    # reasons may quote recorded texts, so they are cut by the same policy
    measures = texts.unquoted(comparison.measures, comparison.changes)
    return replace(comparison, measures=measures, changes=texts.kept(comparison.changes))


def _example(copy: Copy, comparison: RunComparison, sides: tuple[Side, Side]) -> Example | None:
    flips = (
        flip_of(copy, row, (_who(sides[0]), _who(sides[1]))) for row in _differing(comparison.measures)[:MOST_GROUPS]
    )
    return next((flip for flip in flips if flip is not None), None)


def _differing(measures: Sequence[Row]) -> list[Row]:
    # one measure per group, groups that regressed first, as on the page of a night; without groups whose labels are
    # known to be the same on both sides
    groups: dict[tuple[str, ...], Row] = {}
    for row in sorted(ranked(measures), key=lambda row: row["verdict"] != "regressed"):
        groups.setdefault(_group(row), row)
    alike = {_group(row) for row in measures if row["measure"] == CHURN and row["candidate"] == 0}
    return [row for group, row in groups.items() if group not in alike]


def _group(row: Row) -> tuple[str, ...]:
    return row["model_id"], row["task_id"], row["strategy"]


def _who(side: Side) -> str:
    return side.name if side.called is None else side.called


CHURN = "label_churn"
NONE = 1e-9  # parallel sums differ in their last bits
LARGE, LARGER = 0.05, 0.15  # from which a difference is painted in a deeper shade


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The measure that differs most, beyond chance if any does. `figure_id` is the name that `trace` follows."""

    row: Row
    label: str
    moved: str  # +0.226 [+0.186, +0.266]
    figures: tuple[str, ...]  # from what to what, and the uncertainty
    figure_id: str
    is_news: bool
    is_of_labels: bool  # whether `diagnose` has something to say of it


def ranked(measures: Sequence[Row]) -> list[Row]:
    """Sorts the measures that differ by a finite figure: differences beyond chance first, then by size.

    Labels that changed, costs and times come after the measures of the answers.
    """
    return sorted(
        (row for row in measures if _is_finite(row) and abs(row["difference"]) > NONE),
        key=lambda row: (row["verdict"] not in NEWS, row["measure"] in {*UNSCALED, CHURN}, -size(row)),
    )


def _is_finite(row: Row) -> bool:
    return row["difference"] is not None and all(
        math.isfinite(row[name] or 0) for name in ("base", "candidate", "difference")
    )


def largest_of(measures: Sequence[Row]) -> Largest | None:
    """Finds the measure with a verdict that differs most; None if none differs.

    Labels that change no more than expected do not count as a difference: asked again, they change too.
    """
    judged = [
        row
        for row in measures
        if row["verdict"] in NEWS
        or (row["verdict"] in ("unconfirmed", "none_shown", "same") and row["measure"] != CHURN)
    ]
    row = next(iter(ranked(judged)), None)
    if row is None:
        return None
    known, moved, *sure = figures_of(Compared.of(row))
    return Largest(
        row=row,
        label=label_of(row["measure"]),
        moved=moved,
        figures=(known, *sure),
        figure_id=figure_id("rpt_run_comparisons", row, "difference"),
        is_news=row["verdict"] in NEWS,
        is_of_labels=compared_column(row["measure"]) is not None,
    )


def size(row: Row) -> float:
    """Measures how far a figure moved. For costs and times this is the share of the base figure."""
    moved = abs(float(row["difference"] or 0))
    return moved / abs(float(row["base"])) if row["measure"] in UNSCALED and row["base"] else moved


def depth(row: Row) -> int:
    """Chooses the depth of the shade for the size of a difference: 1, 2 or 3."""
    return 1 + sum(size(row) >= edge for edge in (LARGE, LARGER))
