"""The section on the label distributions (p_tau) of a few telling samples: the steadiest, a middling and the least steady one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, cut, number
from flows.report.blocks.blocks import Section, by_group, by_task
from flows.report.blocks.cells import Part, Traced
from flows.report.charts import samples as charts
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted
from flows.report.sections.sensitivity import why_one_wording, why_open
from flows.warehouse import Row

NOT_VALID = "N/A"
ROLES = ("least, right", "least, wrong", "least", "median", "most")
OTHER = "other labels"
MOST_PRINTED = 8  # labels a cell
_COLUMNS = (
    "Model",
    "Strategy",
    "Which",
    "Sample",
    "Gold label",
    "Labels over the wordings",
    "Sensitivity",
    "Mean consistency",
)


def telling(found: Gathered, room: Room) -> Section:
    """p_tau of up to four samples of each model and strategy."""
    section = Section(
        "telling",
        "Labels of a few telling samples",
        "How the labels of a sample share out over the wordings (p_τ): the least sensitive one whose likeliest label is "
        "right, the least sensitive one whose likeliest label is wrong, the median and the most sensitive one.",
    )
    rows_of = by_task(found.sampled.telling)
    for task_id, block, scored in section.of_tasks(found.scorecard):
        rows = rows_of.get(task_id)
        if not rows:
            block.absent.append(why_open(found, task_id) or why_one_wording(scored, "the share of labels"))
            continue
        paints = _painted(rows)
        block.legend = tuple((paint, NOT_VALID if label is None else label) for label, paint in paints.items())
        if any(row["label"] not in paints for row in rows):
            block.legend += ((charts.OTHER, OTHER),)
        groups = by_group(rows)
        room.draw(
            block,
            [
                Wanted(*group, partial(_drawn, own, paints, ", ".join(cut(name, NAME) for name in (*group, task_id))))
                for group, own in groups.items()
            ],
        )
        lines = [
            (*group, _role(said[0]), said[0]["sample_id"], said[0]["gold_label"] or "not known", labels_of(said),
             of.number("sensitivity"), of.number("mean_consistency"))
            for group, own in groups.items()
            for said in by_sample(own).values()
            for of in (Traced("fct_sensitivity", said[0]),)
        ]  # fmt: skip
        block.tables.append(room.table("Telling samples with their labels", _COLUMNS, lines, 2, 2))
    return section


def by_sample(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of one model, task and strategy by sample, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["sample_id"], []).append(row)
    return found


def _painted(rows: Sequence[Row]) -> dict[str | None, str]:
    """A colour for each of the commonest labels, in the task's order, and one for N/A; the others share one."""
    shares: dict[str, float] = {}
    order: dict[str, int] = {}
    for row in rows:
        if row["label"] is not None:
            shares[row["label"]] = shares.get(row["label"], 0) + row["p_tau"]
            order[row["label"]] = row["label_index"]
    common = sorted(shares, key=lambda label: (-shares[label], order[label]))[: len(charts.LABELS)]
    kept = sorted(common, key=lambda label: order[label])
    found: dict[str | None, str] = dict(zip(kept, charts.LABELS, strict=False))
    if any(row["label"] is None for row in rows):
        found[None] = charts.NOT_VALID
    return found


def _role(row: Row) -> str:
    return " and ".join(row["roles"])


def labels_of(said: list[Row]) -> tuple[Part, ...]:
    """Each label with its share, likeliest first."""
    ranked = sorted(said, key=lambda row: -row["p_tau"])
    printed: list[Part] = []
    for row in ranked[:MOST_PRINTED]:
        name = NOT_VALID if row["label"] is None else cut(row["label"], 60)
        printed += [f"{', ' if printed else ''}{name} ", Traced("fct_p_tau", row).number("p_tau", 2)]
    if len(ranked) > MOST_PRINTED:
        printed.append(f" and {len(ranked) - MOST_PRINTED} more")
    return tuple(printed)


def _drawn(rows: list[Row], paints: dict[str | None, str], who: str) -> tuple[str, Markup]:
    keys = [*paints, OTHER]
    colours = [*paints.values(), charts.OTHER]
    samples = dict(sorted(by_sample(rows).items(), key=lambda item: min(map(ROLES.index, item[1][0]["roles"]))))
    names, data, told = [], [], []
    for said in samples.values():
        name = _role(said[0])
        names.append(name)
        start = 0.0
        parts: dict[int, tuple[str, float]] = {}
        for row in said:
            place = keys.index(row["label"]) if row["label"] in paints else len(keys) - 1
            label = OTHER if place == len(keys) - 1 else NOT_VALID if row["label"] is None else cut(row["label"], 60)
            parts[place] = (label, parts.get(place, ("", 0.0))[1] + row["p_tau"])
        for place, (label, p_tau) in sorted(parts.items()):
            data.append(
                {
                    "name": name,
                    "part": place,
                    "label": label,
                    "start": start,
                    "end": min(1.0, start + p_tau),
                    "p_tau": p_tau,
                }
            )
            start += p_tau
        told.append(f"{name} {number(said[0]['sensitivity'])}")
    label = f"{who}: shares of labels over the wordings of {len(names)} samples, by sensitivity: {'; '.join(told)}."
    return "", charts.shares(data, names, colours, label)
