"""The section on the label distributions (p_tau) of a few telling samples: the steadiest, a middling and the least steady one."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by, by_pair
from promptaudit.report.blocks.cells import Part, Traced
from promptaudit.report.charts import samples as charts
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, figure, table, words
from promptaudit.report.sections.extremes import known_rows, largest, whose
from promptaudit.report.sections.reasons import why_one_variant, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number
from promptaudit.warehouse import Row

NOT_VALID = "N/A"
ROLES = ("least, right", "least, wrong", "least", "median", "most")
OTHER = "other labels"
MOST_PRINTED = 8  # labels a cell
_COLUMNS = (
    MODEL,
    STRATEGY,
    Column("Which", lambda of: _role(of.row)),
    words("Sample", "sample_id"),
    Column("Gold label", lambda of: of.row["gold_label"] or "not known"),
    words("Labels over the wordings", "labels"),
    figure("Sensitivity", "sensitivity"),
    figure("Mean consistency", "mean_consistency"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["label_distributions"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows = rows_of.get(task_id)
        if not rows:
            block.absent.append(why_open(data, task_id) or why_one_variant(scored, "the share of labels"))
            continue
        paints = _painted(rows)
        block.legend = tuple((paint, NOT_VALID if label is None else label) for label, paint in paints.items())
        if any(row["label"] not in paints for row in rows):
            block.legend += ((charts.OTHER, OTHER),)
        room.draw(block, charts_of_pairs(rows, task_id, partial(_shares, paints=paints)))
        lines = [line for own in by_pair(rows).values() for line in with_labels(own)]
        block.tables.append(
            table("Telling samples with their labels", _COLUMNS, lines, "fct_sensitivity", most=room.n_rows)
        )


def with_labels(rows: list[Row]) -> list[Row]:
    """Returns a row for each sample of one model, task and strategy, with its labels as they are printed."""
    return [{**own[0], "labels": _labels(own)} for own in by(rows, "sample_id").values()]


def _labels(rows: list[Row]) -> tuple[Part, ...]:
    """Returns each label of a sample with its share, likeliest first."""
    ranked = sorted(rows, key=lambda row: -row["p_tau"])
    printed: list[Part] = []
    for row in ranked[:MOST_PRINTED]:
        printed += [f"{', ' if printed else ''}{_label(row)} ", Traced("fct_p_tau", row).number("p_tau", 2)]
    if len(ranked) > MOST_PRINTED:
        printed.append(f" and {len(ranked) - MOST_PRINTED} more")
    return tuple(printed)


def _label(row: Row) -> str:
    return NOT_VALID if row["label"] is None else cut(row["label"], 60)


def _role(row: Row) -> str:
    return " and ".join(row["roles"])


def _painted(rows: list[Row]) -> dict[str | None, str]:
    """Returns a colour for each of the commonest labels, in the task's order, and one for N/A; the others share one."""
    shares: dict[str, float] = {}
    order: dict[str, int] = {}
    for row in rows:
        if row["label"] is not None:
            shares[row["label"]] = shares.get(row["label"], 0) + row["p_tau"]
            order[row["label"]] = row["label_index"]
    common = sorted(shares, key=lambda label: (-shares[label], order[label]))[: len(charts.LABELS)]
    kept = sorted(common, key=lambda label: order[label])
    paints: dict[str | None, str] = dict(zip(kept, charts.LABELS, strict=False))
    if any(row["label"] is None for row in rows):
        paints[None] = charts.NOT_VALID
    return paints


def _shares(rows: list[Row], who: str, *, paints: dict[str | None, str]) -> Drawn:
    places = {label: place for place, label in enumerate(paints)}
    samples = sorted(by(rows, "sample_id").values(), key=lambda own: min(map(ROLES.index, own[0]["roles"])))
    bars = []
    for own in samples:
        parts: dict[int, tuple[str, float]] = {}
        for row in own:
            place = places.get(row["label"], len(paints))
            label = OTHER if place == len(paints) else _label(row)
            parts[place] = (label, parts.get(place, ("", 0.0))[1] + row["p_tau"])
        start = 0.0
        for place, (label, p_tau) in sorted(parts.items()):
            bars.append(
                {
                    "name": _role(own[0]),
                    "part": place,
                    "label": label,
                    "start": start,
                    "end": min(1.0, start + p_tau),
                    "p_tau": p_tau,
                }
            )
            start += p_tau
    names = [_role(own[0]) for own in samples]
    values = "; ".join(f"{_role(own[0])} {number(own[0]['sensitivity'])}" for own in samples)
    label = f"{who}: shares of labels over the wordings of {len(names)} samples, by sensitivity: {values}."
    return "", charts.shares(bars, names, [*paints.values(), charts.OTHER], label)


def _finding(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data["label_distributions"], "sensitivity") if "most" in row["roles"]]
    worst = largest(rows, "sensitivity")
    if worst is None:
        return ""
    key = ("model_id", "task_id", "strategy", "sample_id")
    n = sum(row["p_tau"] > 0 for row in rows if all(row[name] == worst[name] for name in key))
    if n == 1:
        return f"Every sample gets one label, or none, from {whose(worst)}"
    return f"Sample {cut(worst['sample_id'], NAME)} gets {n} different labels from {whose(worst)}"


label_distributions = Section(
    name="label_distributions",
    title="Labels of a few telling samples",
    intro=(
        "The bars show how the labels of a sample are distributed over the wordings (p_τ). The samples are the "
        "least sensitive one whose likeliest label is right, the least sensitive one whose likeliest label is "
        "wrong, the median one and the most sensitive one."
    ),
    fill=_fill,
    finding=_finding,
    queries=("label_distributions",),
)
