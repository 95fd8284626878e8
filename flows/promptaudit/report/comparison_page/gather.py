"""Gathers what the page about a comparison says, from the published marts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptaudit.marts.comparison.result import NEWS, ComparedRun, RunComparison
from promptaudit.report.ask_copy import Copy
from promptaudit.report.comparison_page.largest import CHURN, Largest, largest_of, ranked
from promptaudit.report.summary_causes import Cause, differences_of
from promptaudit.report.summary_example import Example, flip_of
from promptaudit.system.display.movement import IN_BASE, confused_in_words, place_of
from promptaudit.system.display.policy import Policy, Texts
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import Connection

MOST_GROUPS = 3  # that an example is looked for in
OF_THE_MODEL = {"we_changed_the_model", "provider_changed_the_model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two: its run, and what it is called where two models or strategies are compared."""

    name: str  # base, candidate
    run: ComparedRun
    called: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonData:
    """What the page says. All texts of the example are cut and safe to print; a page escapes them as any other text."""

    comparison: RunComparison
    sides: tuple[Side, Side]
    causes: list[Cause]
    largest: Largest | None
    moved: str | None  # the confusion that grew most, in the words of the task
    example: Example | None


def gather(warehouse: Warehouse, comparison: RunComparison, text: Policy | None = None) -> ComparisonData:
    """Returns what the page about a comparison that has rows says; texts as `text` says, as sparing as either run's cards."""
    sides = [
        Side(name=name, run=run, called=called)
        for name, run, called in zip(("base", "candidate"), comparison.runs, comparison.names, strict=True)
    ]
    with warehouse.published.connect() as con:
        copy = _copy_of_both(con, warehouse, comparison, Texts(text))
        told = _with_texts(comparison, copy.texts)
        are_models = any(each.base_model_id not in (None, each.model_id) for each in comparison.figures)
        recorded = [row for row in told.changes if not (are_models and row["cause"] in OF_THE_MODEL)]
        largest = largest_of(told.measures)
        return ComparisonData(
            comparison=told,
            sides=(sides[0], sides[1]),
            # the confusion is told once, beneath the picture
            causes=differences_of(
                [{**row, "n_moved": None} for row in told.measures if row["verdict"] in NEWS], recorded
            ),
            largest=largest,
            moved=_moved(told, largest),
            example=_example(copy, told, (sides[0], sides[1])),
        )


def _moved(comparison: RunComparison, largest: Largest | None) -> str | None:
    """Returns the confusion that grew most where the largest difference is, else wherever one grew."""
    place = None if largest is None else _group(largest.row)
    grown = sorted(comparison.moved, key=lambda confusion: confusion.group != place)
    if not grown:
        return None
    said = confused_in_words(grown[0], IN_BASE)
    return said if grown[0].group == place else f"{place_of(grown[0])}: {said}"


def _copy_of_both(con: Connection, warehouse: Warehouse, comparison: RunComparison, texts: Texts) -> Copy:
    """Returns the copy of the candidate, as sparing with texts as the cards of either run."""
    base, candidate = (run.audit_run_id for run in comparison.runs)
    copy = Copy(con, warehouse, candidate, texts)
    copy.texts.sensitive |= copy.sensitive_of(base)
    return copy


def _with_texts(comparison: RunComparison, texts: Texts) -> RunComparison:
    """Returns the comparison with what is recorded otherwise as the policy has it, and reasons that quote no more than that."""
    measures = texts.unquoted(comparison.measures, comparison.changes)
    return replace(comparison, measures=measures, changes=texts.kept(comparison.changes))


def _example(copy: Copy, comparison: RunComparison, sides: tuple[Side, Side]) -> Example | None:
    """Returns a sample that the two answer differently, of the first of the groups that differ most which has one."""
    flips = (
        flip_of(copy, row, (_who(sides[0]), _who(sides[1]))) for row in _differing(comparison.measures)[:MOST_GROUPS]
    )
    return next((flip for flip in flips if flip is not None), None)


def _differing(measures: Sequence[Row]) -> list[Row]:
    """Returns the measure that differs most of each group, one that regressed before others, as the page of a night has it.

    None of a group whose labels are known to be the same on both sides.
    """
    groups: dict[tuple[str, ...], Row] = {}
    for row in sorted(ranked(measures), key=lambda row: row["verdict"] != "regressed"):
        groups.setdefault(_group(row), row)
    alike = {_group(row) for row in measures if row["measure"] == CHURN and row["candidate"] == 0}
    return [row for group, row in groups.items() if group not in alike]


def _group(row: Row) -> tuple[str, ...]:
    return row["model_id"], row["task_id"], row["strategy"]


def _who(side: Side) -> str:
    return side.name if side.called is None else side.called
