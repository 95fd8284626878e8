"""Gathers the content of the page about a comparison from the published marts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptaudit.gate.alerts.problems import figures_of
from promptaudit.marts.comparison.result import NEWS, ComparedRun, RunComparison
from promptaudit.registry.mart_columns import compared_column
from promptaudit.report.ask_copy import Copy
from promptaudit.report.blocks.blocks import Group, group_of
from promptaudit.report.summary_causes import Cause, differences_of
from promptaudit.report.summary_example import Example, flips_of
from promptaudit.report.summary_worst import UNSCALED, label_of
from promptaudit.system.display.compared import Compared
from promptaudit.system.display.movement import IN_BASE, confused_in_words, place_of
from promptaudit.system.display.policy import Policy, Texts
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.figure_names import figure_id

MOST_GROUPS = 3  # that an example is looked for in
MOST_EXAMPLES = 3
OF_THE_MODEL = {"we_changed_the_model", "provider_changed_the_model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: its run, and its name if two models or strategies are compared."""

    name: str  # base, candidate
    run: ComparedRun
    called: str | None

    @property
    def who(self) -> str:
        """The model or strategy if two are compared, else base or candidate."""
        return self.name if self.called is None else self.called


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
    examples: Sequence[Example]  # of one group


def gather(warehouse: Warehouse, comparison: RunComparison, text: Policy | None = None) -> ComparisonData:
    """Gathers the page's content for a comparison with rows.

    A text is left out if `text` or the cards of either run say so.
    """
    base, candidate = (
        Side(name=name, run=run, called=called)
        for name, run, called in zip(("base", "candidate"), comparison.runs, comparison.names, strict=True)
    )
    with warehouse.published.connect() as con:
        copy = Copy(con, warehouse, candidate.run.audit_run_id, Texts(text))
        copy.texts.sensitive |= copy.sensitive_of(base.run.audit_run_id)
        # reasons may quote recorded texts, so they are cut by the same policy
        measures = copy.texts.unquoted(comparison.measures, comparison.changes)
        shown = replace(comparison, measures=measures, changes=copy.texts.kept(comparison.changes))
        are_models = any(each.base_model_id not in (None, each.model_id) for each in comparison.figures)
        recorded = [row for row in shown.changes if not (are_models and row["cause"] in OF_THE_MODEL)]
        # the confusion stands once on the page, beneath the picture
        news = [{**row, "n_moved": None} for row in measures if row["verdict"] in NEWS]
        largest = largest_of(measures)
        names = (base.who, candidate.who)
        flips = (flips_of(copy, row, names, MOST_EXAMPLES) for row in _differing(measures)[:MOST_GROUPS])
        return ComparisonData(
            comparison=shown,
            sides=(base, candidate),
            causes=differences_of(news, recorded),
            largest=largest,
            moved=_moved(shown, largest),
            examples=next(filter(None, flips), ()),
        )


def _moved(comparison: RunComparison, largest: Largest | None) -> str | None:
    # the confusion of the group with the largest difference goes before others
    place = None if largest is None else group_of(largest.row)
    grown = min(comparison.moved, key=lambda confusion: confusion.group != place, default=None)
    if grown is None:
        return None
    said = confused_in_words(grown, IN_BASE)
    return said if grown.group == place else f"{place_of(grown)}: {said}"


def _differing(measures: Sequence[Row]) -> list[Row]:
    # one measure per group, groups that regressed first, as on the page of a night; without groups whose labels are
    # known to be the same on both sides
    alike = {group_of(row) for row in measures if row["measure"] == CHURN and row["candidate"] == 0}
    groups: dict[Group, Row] = {}
    for row in sorted(ranked(measures), key=lambda row: row["verdict"] != "regressed"):
        if group_of(row) not in alike:
            groups.setdefault(group_of(row), row)
    return list(groups.values())


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
        (row for row in measures if abs(row["difference"] or 0) > NONE and all(map(math.isfinite, _sides(row)))),
        key=lambda row: (row["verdict"] not in NEWS, row["measure"] in {*UNSCALED, CHURN}, -size(row)),
    )


def _sides(row: Row) -> list[float]:
    return [row[name] or 0 for name in ("base", "candidate", "difference")]


def largest_of(measures: Sequence[Row]) -> Largest | None:
    """Finds the measure with a verdict that differs most; None if none differs.

    Labels that change no more than expected do not count as a difference: asked again, they change too.
    """
    judged = (*NEWS, "unconfirmed", "none_shown", "same")
    known = [row for row in measures if row["verdict"] in (NEWS if row["measure"] == CHURN else judged)]
    row = next(iter(ranked(known)), None)
    if row is None:
        return None
    change, moved, *sure = figures_of(Compared.of(row))
    return Largest(
        row=row,
        label=label_of(row["measure"]),
        moved=moved,
        figures=(change, *sure),
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
