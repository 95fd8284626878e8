"""The section on PSS of a part of the samples: how many of them it takes until the figure holds still."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.charts.curves import Axes, curves
from promptaudit.report.charts.panels import STABLE, Domain, near_domain
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, bounds, figure, table
from promptaudit.report.sections.extremes import group, known_rows
from promptaudit.report.sections.reasons import why_no_answers, why_open
from promptaudit.report.sections.room import Chart, Drawn, Room, charts_of_models, colour, point
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number, percent, span
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MART = "rpt_stability_by_share"
NEAR = 0.05  # of PSS: a part of the samples says as much
_SCOPES = {"intra": "by repetition", "inter": "over prompt variants"}
_FIELDS = {"series": "strategy", "at": "share of samples", "value": "PSS", "low": "low", "high": "high", "n": "samples"}
_COLUMNS = (
    MODEL,
    STRATEGY,
    figure("Share of samples", "sample_share", Traced.percent),
    N_SAMPLES,
    figure("PSS", "pss"),
    bounds("pss"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    measured = [row for row in data["subsamples"] if row["pss"] is not None and row["scope"] in _SCOPES]
    rows_of = by(measured, "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows = sorted(rows_of.get(task_id, []), key=_place)
        if not rows:
            once = "Nothing was asked twice, under one wording or two, so there is nothing to compare."
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or once)
            continue
        shown = colour(block, rows)
        draw = partial(_curves, shown=shown, domain=near_domain([(row["pss"], row["pss_low"]) for row in rows]))
        room.draw(block, _charts([row for row in rows if row["strategy"] in shown], task_id, draw))
        for scope, own in by(rows, "scope").items():
            caption = f"PSS {_SCOPES[scope]} of a part of the samples"
            block.tables.append(table(caption, _COLUMNS, own, MART, most=room.n_rows))


def _place(row: Row) -> tuple[int, str, str, float]:
    return list(_SCOPES).index(row["scope"]), row["model_id"], row["strategy"], row["sample_share"]


def _charts(rows: list[Row], task_id: str, draw: partial[Drawn]) -> list[Chart]:
    """Returns a chart a scope and model: scopes by turns, so that both are seen where there is room for few."""
    of_scopes = [charts_of_models(own, task_id, _SCOPES[scope], draw) for scope, own in by(rows, "scope").items()]
    longest = max(map(len, of_scopes))
    return [charts[place] for place in range(longest) for charts in of_scopes if place < len(charts)]


def _curves(rows: list[Row], who: str, *, shown: list[str], domain: Domain) -> Drawn:
    points = [
        point(MART, row, "pss", series=row["strategy"], at=row["sample_share"], n=row["n_samples"]) for row in rows
    ]
    shares = sorted({row["at"] for row in points})
    spans = "; ".join(
        f"{cut(name, NAME)} {span([row['value'] for row in own])}" for name, own in by(points, "series").items()
    )
    of = _SCOPES[rows[0]["scope"]]
    label = f"{who}: PSS {of} by share of the samples ({', '.join(percent(share) for share in shares)}): {spans}."
    axes = Axes(x="share of the samples", y="PSS", ticks=shares, domain=domain, format=".0%", level=STABLE)
    return "", curves(points, shown, axes, _FIELDS, label)


def _finding(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data["subsamples"], "pss") if row.get("scope") == "inter"]
    whole = {group(row): row["pss"] for row in rows if row["sample_share"] == 1}
    apart: dict[float, float] = {}
    for row in rows:
        if group(row) in whole:
            share = row["sample_share"]
            apart[share] = max(apart.get(share, 0.0), abs(row["pss"] - whole[group(row)]))
    shares = sorted(apart)
    enough = next(
        (share for place, share in enumerate(shares) if all(apart[later] <= NEAR for later in shares[place:])), None
    )
    if enough is None or len(shares) < 2:  # noqa: PLR2004 - the whole alone
        return ""
    if enough == 1:
        return f"PSS of {percent(shares[-2])} of the samples is up to {number(apart[shares[-2]])} away from that of all"
    return (
        f"{percent(enough)} of the samples give PSS over {word_for(data.variants)}s to within {NEAR:g} of that of all"
    )


subsamples = Section(
    name="subsamples",
    title="PSS by share of the samples",
    intro=(
        "PSS of the labels by repetition and over prompt variants (mean over paraphrase temperatures), on a part "
        "of the samples. The samples are chosen by a hash of the run's seed and their name, so that each part lies "
        "within the next; the formula and the 95 % interval are those of the whole. Parts of fewer than three "
        "samples are left out. Of a wide interval only the upper part is drawn; the table has the whole."
    ),
    fill=_fill,
    finding=_finding,
    queries=("subsamples",),
)
