"""The sections of a comparison's page: every measure, cost and latency, what is recorded otherwise, samples that flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from promptaudit.marts.comparison.result import RunComparison
from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.comparison_page.largest import ranked
from promptaudit.report.sections.columns import (
    COMPARED,
    COMPARED_NAMES,
    DETECTABLE,
    MODEL,
    STRATEGY,
    Column,
    Q,
    compared_figure,
    compared_figures,
    figure,
    gravest_first,
    table,
    words,
)
from promptaudit.report.sections.nights import counts_of
from promptaudit.report.summary_worst import UNSCALED, label_of
from promptaudit.system.display.figures import ABSENT, chance, count, cut
from promptaudit.udfs.causes import PHRASES
from promptaudit.warehouse import Row

MOST_ROWS = 2000
MOST_REASONS = 5
NAME = 60


def _or_every(name: str) -> Column:
    return Column(name.removesuffix("_id").capitalize(), lambda of: str(of.row[name] or "every"))


def _recorded_by(side: str) -> Column:
    return Column(side.capitalize(), lambda of: ABSENT if of.row[side] is None else str(of.row[side]))


_COSTS = (*COMPARED_NAMES, words("Why", "reason"), *compared_figures())
_MEASURED = (*_COSTS, figure("p", "p_value", lambda of, name: of.cell(name, chance(of.row[name]))), Q, DETECTABLE)
_RECORDED = (
    words("What", "what"),
    _or_every("model_id"),
    _or_every("task_id"),
    Column("Cause", lambda of: str(PHRASES.get(of.row["cause"], of.row["cause"]))),
    _recorded_by("base"),
    _recorded_by("candidate"),
)
_FLIPS = (
    Column("Flip", lambda of: of.row["flip"].replace("_", " ")),
    words("Sample", "sample_id"),
    MODEL,
    words("Task", "task_id"),
    STRATEGY,
    figure("Share right, base", "base_share_right"),
    figure("candidate", "candidate_share_right"),
    figure("Share of the commonest label, base", "base_largest_share"),
    figure("candidate", "candidate_largest_share"),
)


def sections(comparison: RunComparison) -> list[DrawnSection]:
    """Returns what is folded below the first screen of a comparison's page."""
    of_costs = [row for row in comparison.measures if row["measure"] in UNSCALED]
    return [
        _measures([row for row in comparison.measures if row["measure"] not in UNSCALED]),
        *([_costs(of_costs)] if of_costs else []),
        _recorded(comparison.changes),
        _flips(comparison.flips),
    ]


def _measures(rows: Sequence[Row]) -> DrawnSection:
    section = DrawnSection(
        "measures",
        "Every measure",
        "Both sides on the samples, wordings and asks that both have, the gravest verdict first. Regressed and improved are "
        "beyond chance, adjusted for the number of tests (q), and at least the smallest effect that counts; changed: the same "
        "questions are answered otherwise than on two normal nights as far apart. Unconfirmed: as large, but asked at different "
        "times, and fewer than three normal nights say how far these lie apart. Same: the interval lies within the smallest "
        "effect. Detectable is the smallest difference that would hardly be missed.",
        finding=counts_of(rows),
    )
    block = section.add()
    reasons = Counter(row["reason"] for row in rows if row["verdict"] == "not_comparable")
    block.notes += [f"{count(n)} not comparable: {cut(reason)}." for reason, n in reasons.most_common(MOST_REASONS)]
    block.tables.append(
        table("Every measure", _MEASURED, gravest_first(rows), COMPARED, n_heads=5, is_open=True, most=MOST_ROWS)
    )
    return section


def _costs(rows: Sequence[Row]) -> DrawnSection:
    section = DrawnSection(
        "costs",
        "Cost and latency",
        "Costs are those of all answers of a group, latency is its median answer's. They have a verdict where the audit's card "
        "says how much more is too much (max_cost_increase, max_latency_increase).",
        finding=_finding_of_costs(rows),
    )
    section.add().tables.append(
        table("Cost and latency", _COSTS, gravest_first(rows), COMPARED, n_heads=5, is_open=True, most=MOST_ROWS)
    )
    return section


def _finding_of_costs(rows: Sequence[Row]) -> str:
    row = next(iter(ranked(rows)), None)
    if row is None:
        return "Neither cost nor latency is known to differ"
    of, who = Traced(COMPARED, row), ", ".join(cut(row[name], NAME) for name in ("model_id", "task_id", "strategy"))
    base, candidate = (compared_figure(of, side) for side in ("base", "candidate"))
    return f"{label_of(row['measure'])} differs most for {who}: {base} → {candidate}"


def _recorded(rows: Sequence[Row]) -> DrawnSection:
    section = DrawnSection(
        "recorded",
        "What is recorded otherwise",
        "Cards, prompts, data, readers, providers and code, as each side recorded them. A long text is cut and has a hash "
        "of all of it.",
        finding=_finding_of_recorded(list(dict.fromkeys(row["what"] for row in rows))),
    )
    block = section.add()
    if rows:
        block.tables.append(table("What is recorded otherwise", _RECORDED, rows, n_heads=1, is_open=True))
    else:
        block.absent.append("Cards, prompts, data, readers, providers and code are recorded alike.")
    return section


def _finding_of_recorded(names: Sequence[str]) -> str:
    if not names:
        return "Nothing on record differs"
    n = "1 thing differs" if len(names) == 1 else f"{len(names)} things differ"
    return f"{n}: {', '.join(names)}"


def _flips(rows: Sequence[Row]) -> DrawnSection:
    section = DrawnSection(
        "flips",
        "Samples that flipped",
        "Steady: nine answers in ten say the same; unsteady: less than three in four. Right: three in four answers are; wrong: "
        "one in four. What lies between the two does not flip.",
        finding=_finding_of_flips(rows),
    )
    block = section.add()
    if rows:
        block.tables.append(
            table("Samples that flipped", _FLIPS, rows, "fct_flips", n_heads=2, is_open=True, most=MOST_ROWS)
        )
    else:
        block.absent.append("No sample became right or wrong, steady or unsteady.")
    return section


def _finding_of_flips(rows: Iterable[Row]) -> str:
    samples: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        samples.setdefault(row["flip"], set()).add((row["task_id"], row["sample_id"]))
    told = ", ".join(f"{count(len(own))} {flip.replace('_', ' ')}" for flip, own in samples.items())
    return f"Samples: {told}" if told else "No sample flipped"
