"""Finds the model, task and strategy that is worst, and its worst wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from promptaudit.registry.cards import ALL_FIELDS
from promptaudit.registry.mart_columns import ENDS, compared_column, compared_unit, mart_columns
from promptaudit.report.ask_copy import Copy
from promptaudit.report.blocks.blocks import group_of
from promptaudit.report.queries import query
from promptaudit.report.summary_example import Wording, wording_of
from promptaudit.system.display.figures import cut, in_unit, moved, number, ranged, ranged_in
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

LABEL = 60
LAST = ("pss_inter", "micro_f1", "invalid_rate")  # where nothing says how answers depend on wordings
UNSCALED = {"cost_usd", "latency_ms"}
OF_FIELD = "accuracy:field:"
"""Prefix of the names of accuracies of extraction fields in rpt_run_comparisons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstWording:
    """The worst group's wording that breaks, or is less accurate than the others beyond chance; None without one."""

    wording: Wording | None
    said: str  # of it, or that there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The model, task and strategy that is worst, by which measure and by how much.

    If figures regressed since the last comparable night, it is the figure that moved most, and `before` and
    `difference` say from where and by how much; else it is the one that depends most on the wording. `strategy` is None
    for a figure over all strategies. `low` and `high` are widened to hold for the worst of many groups
    (`resampling.widened`). `figure_id` is the name that `trace` follows. Models that answer by chance or err on purpose
    are the worst only if there are no others.
    """

    model_id: str
    task_id: str
    strategy: str | None
    measure: str
    label: str
    unit: str | None
    figure: float
    figure_id: str
    low: float | None = None
    high: float | None = None
    of_many: str = ""  # the largest of 18
    is_of_labels: bool = False  # whether `diagnose` has something to say of the group
    before: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    wording: WorstWording | None = None
    field: str | None = None  # of extraction, whose accuracy the figure is

    @property
    def group(self) -> str:
        """Model, task and strategy, cut and safe to print."""
        return ", ".join(cut(name, 60) for name in (self.model_id, self.task_id, self.strategy) if name is not None)

    @property
    def printed(self) -> str:
        """The figure with its interval, and the worst of how many it is: `0.226 [0.049, 0.622], the largest of 18`.

        If it moved, from where: `0.143, +0.062 [+0.041, +0.083] since 0.081`.
        """
        figure = ranged_in(self.figure, self.low, self.high, self.unit)
        if self.before is None or self.difference is None:
            return f"{figure}, {self.of_many}" if self.of_many else figure
        change = moved(self.difference, self.difference_low, self.difference_high, self.unit)
        return f"{figure}, {change} since {in_unit(self.before, self.unit)}"


def worst_of(copy: Copy, scorecard: Sequence[Row], last: Sequence[Row]) -> Worst | None:
    """Finds what is worst among rows of the scorecard. `last` is the comparison with the last comparable night."""
    known = {(row["model_id"], row["task_id"]) for row in scorecard}
    worse = [row for row in last if row["verdict"] == "regressed" and (row["model_id"], row["task_id"]) in known]
    worst = _moved(worse) if worse else _highest(copy, scorecard, known)
    if worst is None:
        return None
    wanted = (worst.model_id, worst.task_id, worst.strategy)
    group = next((row for row in scorecard if group_of(row) == wanted), None)
    if group is None:
        return worst
    return replace(worst, is_of_labels=group["sensitivity"] is not None, wording=_wording_of(copy, worst, group))


def _moved(worse: Sequence[Row]) -> Worst:
    # costs, times and lost samples only if nothing else regressed
    row = max(worse, key=lambda row: (row["measure"] not in (*UNSCALED, "lost_samples"), abs(row["difference"] or 0.0)))
    measure = row["measure"]
    return Worst(
        **{name: row[name] for name in ("model_id", "task_id", "strategy", "measure")},
        label=label_of(measure),
        unit=compared_unit(measure),
        figure=row["candidate"],
        figure_id=figure_id(mart_of(row), row, "candidate"),
        before=row["base"],
        **{name: row[name] for name in ("difference", "difference_low", "difference_high")},
        field=measure.removeprefix(OF_FIELD) if measure.startswith(OF_FIELD) else None,
    )


def mart_of(row: Row) -> str:
    """Names the mart of a row of `changes.sql`. Costs and times of a night are no figures of samples."""
    if row["n_nights_normal"] is None:
        return "rpt_run_comparisons"
    return "rpt_night_verdicts" if row["measure"] in UNSCALED else "rpt_night_figures"


OF_SCORES = {"accuracy": "Accuracy", "accuracy_std": "Accuracy spread"}
"""Labels of the measures that exist once per scoring method."""


def label_of(measure: str) -> str:
    """Names a measure of rpt_run_comparisons as people call it."""
    column = compared_column(measure)
    if column is not None:
        return column.label
    kind, _, method = measure.partition(":")
    return f"{OF_SCORES[kind]}, {method}" if kind in OF_SCORES else measure


def _highest(copy: Copy, scorecard: Sequence[Row], known: set[tuple[str, str]]) -> Worst | None:
    # by labels, else by the field that is right least often, else by right and wrong, else by another measure
    def of_known(name: str) -> list[Row]:
        return [row for row in copy(query(name)) if (row["model_id"], row["task_id"]) in known]

    def of_card(name: str) -> Worst | None:
        column = mart_columns("rpt_audit")[name]
        own = (column.label or name, column.unit)
        return _extreme(scorecard, "rpt_audit", name, *own, is_largest=column.direction == "lower")

    if worst := of_card("sensitivity"):
        return worst
    # the accuracy of all fields together is never higher than any one of them, so it is left out
    fields = [row for row in of_known("fields") if row["field"] != ALL_FIELDS]
    if worst := _extreme(fields, "fct_field_stability", "accuracy", "accuracy of field {field}", "share"):
        return replace(worst, measure=f"{OF_FIELD}{worst.field}")
    # over all strategies, which are templates too
    label, spread = "spread of accuracy by {scoring_method}, corrected,", "accuracy_std_corrected"
    of_scores = _extreme(of_known("spreads"), "fct_scoring_sensitivity", spread, label, "share", is_largest=True)
    return of_scores or next(filter(None, map(of_card, LAST)), None)


def _extreme(
    rows: Sequence[Row], mart: str, name: str, label: str, unit: str | None, *, is_largest: bool = False
) -> Worst | None:
    # `label` may name a column in braces; the interval is widened to hold for the extreme of all rows
    from promptaudit.udfs.resampling import widened

    known = [row for row in rows if row.get(name) is not None]
    if not known:
        return None
    row = (max if is_largest else min)(known, key=itemgetter(name))
    low, high = (row.get(name + end) for end in ENDS)
    if low is not None and high is not None:
        low, high = widened(row[name], low, high, len(known))
    return Worst(
        model_id=row["model_id"],
        task_id=row["task_id"],
        strategy=row.get("strategy"),
        measure=name,
        label=label.format(**{each: cut(str(row.get(each)), LABEL) for each in ("field", "scoring_method")}),
        unit=unit,
        figure=row[name],
        low=low,
        high=high,
        figure_id=figure_id(mart, row, name),
        of_many=f"the {'largest' if is_largest else 'lowest'} of {len(known)}" if len(known) > 1 else "",
        field=row.get("field"),
    )


def _wording_of(copy: Copy, worst: Worst, group: Row) -> WorstWording | None:
    from promptaudit.udfs.measures.wording_accuracies import gap_to_others

    who = {"model": worst.model_id, "task": worst.task_id, "strategy": worst.strategy, "field": worst.field}
    rows = copy(query("worst_wordings"), **who)
    rates = [rows[0][name] for name in ("working_rate", "working_rate_of_others")] if rows else [None, None]
    # one that breaks its format may work as well as the others, which its own sentence says
    if rows and rows[0]["is_breaking"] and None not in rates and rates[0] < rates[1]:
        against = " against ".join(map(number, rates))
        return WorstWording(wording=wording_of(copy, rows[0]), said=f"breaks, {against} of the others")
    known = [row for row in rows if row["accuracy_shrunk"] is not None]
    if len(known) < 2:  # noqa: PLR2004 - one wording is no worse than another
        return None
    fitted, shrunk = ([row[f"accuracy_{of}"] for row in known] for of in ("fitted", "shrunk"))
    gap = gap_to_others(fitted, shrunk, group["n_samples"])
    if gap.low <= 0:
        return WorstWording(wording=None, said="no wording is worse than the others beyond chance")
    below = f"accuracy {number(shrunk[0])}, {ranged(*gap)} below the other {len(known) - 1}"
    return WorstWording(wording=wording_of(copy, known[0]), said=below)
