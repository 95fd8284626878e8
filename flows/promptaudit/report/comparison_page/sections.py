"""Builds the sections of a comparison's page: all measures, cost and latency, recorded differences, flipped samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from promptaudit.marts.comparison.result import NEWS, RunComparison
from promptaudit.report.blocks.blocks import DrawnSection, Heat, HeatCell, HeatLine, by_columns, keyed
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.comparison_page.gather import LARGE, LARGER, depth, ranked
from promptaudit.report.sections.columns import (
    COMPARED,
    COMPARED_NAMES,
    DETECTABLE,
    MODEL,
    STRATEGY,
    Column,
    Q,
    around,
    compared_figure,
    compared_figures,
    difference,
    figure,
    gravest_first,
    table,
    words,
)
from promptaudit.report.sections.nights import counts_of
from promptaudit.report.sections.words import whose
from promptaudit.report.summary_worst import UNSCALED, label_of
from promptaudit.system.display.figures import ABSENT, NAME, chance, count, cut, share
from promptaudit.udfs.causes import PHRASES
from promptaudit.warehouse import Row

MOST_ROWS = 2000
MOST_REASONS = 5


def _recorded_by(side: str) -> Column:
    return Column(side.capitalize(), lambda of: ABSENT if of.row[side] is None else str(of.row[side]))


_COSTS = (*COMPARED_NAMES, words("Why", "reason"), *compared_figures())
_MEASURED = (*_COSTS, figure("p", "p_value", lambda of, name: of.cell(name, chance(of.row[name]))), Q, DETECTABLE)
_RECORDED = (
    *(words("What", "what"), words("Model", "model_id", "every"), words("Task", "task_id", "every")),
    Column("Cause", lambda of: str(PHRASES.get(of.row["cause"], of.row["cause"]))),
    *(_recorded_by("base"), _recorded_by("candidate")),
)
_FLIPS = (
    *(Column("Flip", lambda of: of.row["flip"].replace("_", " ")), words("Sample", "sample_id")),
    *(MODEL, words("Task", "task_id"), STRATEGY),
    *(figure("Share right, base", "base_share_right"), figure("candidate", "candidate_share_right")),
    figure("Share of the commonest label, base", "base_largest_share"),
    figure("candidate", "candidate_largest_share"),
)


def sections(comparison: RunComparison) -> list[DrawnSection]:
    """Builds the sections that are folded below the first screen of a comparison's page."""
    costs, measures = (
        gravest_first([row for row in comparison.measures if (row["measure"] in UNSCALED) == is_cost])
        for is_cost in (True, False)
    )
    every = _section("measures", counts_of(measures), _MEASURED, measures, COMPARED, n_heads=5)
    reasons = Counter(row["reason"] for row in measures if row["verdict"] == "not_comparable")
    every.blocks[0].notes += [
        f"{count(n)} not comparable: {cut(reason)}." for reason, n in reasons.most_common(MOST_REASONS)
    ]
    return [
        every,
        *([_section("costs", _finding_of_costs(costs), _COSTS, costs, COMPARED, n_heads=5)] if costs else []),
        _section("recorded", _finding_of_recorded(comparison.changes), _RECORDED, comparison.changes, n_heads=1),
        _section("flips", _finding_of_flips(comparison.flips), _FLIPS, comparison.flips, "fct_flips", n_heads=2),
    ]


_INTROS = {
    "measures": (
        "Both sides on the samples, wordings and asks that both have, the gravest verdict first. Regressed and improved are "
        "beyond chance, adjusted for the number of tests (q), and at least the smallest effect that counts; changed: the same "
        "questions are answered otherwise than on two normal nights as far apart. Unconfirmed: as large, but asked at different "
        "times, and fewer than three normal nights say how far these lie apart. Same: the interval lies within the smallest "
        "effect. Detectable is the smallest difference that would hardly be missed."
    ),
    "costs": (
        "Costs are those of all answers of a group, latency is its median answer's. They have a verdict where the audit's card "
        "says how much more is too much (max_cost_increase, max_latency_increase)."
    ),
    "recorded": (
        "Cards, prompts, data, readers, providers and code, as each side recorded them. A long text is cut and has a hash "
        "of all of it."
    ),
    "flips": (
        "Steady: nine answers in ten say the same; unsteady: less than three in four. Right: three in four answers are; wrong: "
        "one in four. What lies between the two does not flip."
    ),
}
_TITLES = {
    "measures": "Every measure",
    "costs": "Cost and latency",
    "recorded": "What is recorded otherwise",
    "flips": "Samples that flipped",
}
_ABSENT = {
    "recorded": "Cards, prompts, data, readers, providers and code are recorded alike.",
    "flips": "No sample became right or wrong, steady or unsteady.",
}


def _section(
    anchor: str, finding: str, columns: Sequence[Column], rows: Sequence[Row], mart: str = "", *, n_heads: int
) -> DrawnSection:
    section = DrawnSection(anchor, _TITLES[anchor], _INTROS[anchor], finding=finding)
    block = section.add()
    if rows or anchor not in _ABSENT:
        block.tables.append(table(section.title, columns, rows, mart, n_heads=n_heads, is_open=True, most=MOST_ROWS))
    else:
        block.absent.append(_ABSENT[anchor])
    return section


def _finding_of_costs(rows: Sequence[Row]) -> str:
    row = next(iter(ranked(rows)), None)
    if row is None:
        return "Neither cost nor latency is known to differ"
    base, candidate = (compared_figure(Traced(COMPARED, row), side) for side in ("base", "candidate"))
    return f"{label_of(row['measure'])} differs most for {whose(row)}: {base} → {candidate}"


def _finding_of_recorded(changes: Sequence[Row]) -> str:
    names = list(dict.fromkeys(row["what"] for row in changes))
    if not names:
        return "Nothing on record differs"
    n = "1 thing differs" if len(names) == 1 else f"{len(names)} things differ"
    return f"{n}: {', '.join(names)}"


def _finding_of_flips(rows: Iterable[Row]) -> str:
    samples: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        samples.setdefault(row["flip"], set()).add((row["task_id"], row["sample_id"]))
    counted = ", ".join(f"{count(len(own))} {flip.replace('_', ' ')}" for flip, own in samples.items())
    return f"Samples: {counted}" if counted else "No sample flipped"


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
KEY = ("task_id", "model_id", "strategy")


def heat(measures: Sequence[Row]) -> Heat:
    """Draws the differences of one comparison as a table of shades.

    If there are many groups, the most different are shown.
    """
    known = [row for row in measures if row["difference"] is not None]
    if not known:
        return Heat(label="Differences", absent="No measure has a difference between the two.")
    names = sorted({row["measure"] for row in known}, key=_place)
    by_cell = keyed(known, *KEY, "measure")
    kept = list(by_columns([*ranked(known), *known], *KEY))[: max(1, MOST_CELLS // len(names))]
    groups = sorted(by_columns(measures, *KEY))
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


def _place(measure: str) -> tuple[int, str]:
    # what most people look for first, and costs and times last
    if measure in FIRST:
        return FIRST.index(measure), measure
    return len(FIRST) + (measure in ("cost_usd", "latency_ms")), measure


def _cell(row: Row | None) -> HeatCell | None:
    if row is None:
        return None
    of = Traced(COMPARED, row)
    interval, verdict = around(of, "difference"), row["verdict"]
    change = (compared_figure(of, "base"), " → ", compared_figure(of, "candidate"))
    return HeatCell(
        shade=f"{verdict}-{depth(row)}" if verdict in NEWS else "h0",
        figure=difference(of, "difference"),
        below=(interval, change) if interval else (change,),
    )
