"""The picture of a comparison: measures across, models, tasks and strategies down, a shade for verdict and size."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.marts.comparison.result import NEWS
from promptaudit.report.blocks.blocks import keyed
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.blocks.heat import Heat, HeatCell, HeatLine
from promptaudit.report.comparison_page.largest import LARGE, LARGER, depth, ranked
from promptaudit.report.sections.columns import COMPARED, around, compared_figure, difference
from promptaudit.report.summary_worst import label_of
from promptaudit.system.display.figures import NAME, cut, share
from promptaudit.warehouse import Row

MOST_CELLS = 800
FIRST = ("sensitivity", "consistency", "micro_f1", "pss_inter", "pss_intra", "invalid_rate", "label_churn")
LEGEND = (
    ("regressed-3", "regressed"),
    ("improved-3", "improved"),
    ("changed-3", "changed"),
    ("h0", "no difference shown, unconfirmed, or not judged"),
)
NOTE = (
    f"Candidate less base with its 95 % interval; below it from what to what. Deeper from {LARGE:g} and from {LARGER:g} on, of "
    f"costs and times from {share(LARGE)} and {share(LARGER)}. A dash cannot be compared."
)
Group = tuple[str, str, str]


def heat(measures: Sequence[Row]) -> Heat:
    """Returns the picture of the rows of one comparison; of many groups those that differ most."""
    known = [row for row in measures if row["difference"] is not None]
    if not known:
        return Heat(label="Differences", absent="No measure has a difference between the two.")
    names = sorted({row["measure"] for row in known}, key=_place)
    by_cell = keyed(known, "task_id", "model_id", "strategy", "measure")
    most = max(1, MOST_CELLS // len(names))
    kept = set(list(dict.fromkeys(map(_group, [*ranked(known), *known])))[:most])
    groups = sorted(set(map(_group, measures)))
    models = {model for _, model, _ in kept}
    lines, last = [], ""
    for group in [group for group in groups if group in kept]:
        task, model, strategy = group
        heading = cut(task, NAME) if len(models) == 1 else f"{cut(task, NAME)}, {cut(model, NAME)}"
        cells = tuple(_cell(by_cell.get((*group, name))) for name in names)
        lines.append(HeatLine(name=strategy, heading=None if heading == last else heading, cells=cells))
        last = heading
    few = f"The {len(lines)} of {len(groups)} lines that differ most; promptaudit sql has the others."
    return Heat(
        label="Differences",
        of_each="measure, model, task and strategy",
        beside="with its 95 % interval, and from what to what",
        corner="Strategy",
        columns=tuple((label_of(name), "") for name in names),
        lines=tuple(lines),
        legend=LEGEND,
        notes=(NOTE, *([few] if len(lines) < len(groups) else [])),
    )


def _group(row: Row) -> Group:
    return row["task_id"], row["model_id"], row["strategy"]


def _place(measure: str) -> tuple[int, str]:
    """Returns the order of columns: what most people look for first, costs and times last."""
    if measure in FIRST:
        return FIRST.index(measure), measure
    return len(FIRST) + (measure in ("cost_usd", "latency_ms")), measure


def _cell(row: Row | None) -> HeatCell | None:
    if row is None:
        return None
    of = Traced(COMPARED, row)
    interval, verdict = around(of), row["verdict"]
    change = (compared_figure(of, "base"), " → ", compared_figure(of, "candidate"))
    return HeatCell(
        shade=f"{verdict}-{depth(row)}" if verdict in NEWS else "h0",
        figure=difference(of, "difference"),
        below=(interval, change) if interval else (change,),
    )
