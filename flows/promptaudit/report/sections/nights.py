"""The section on an audit's nights: each measure as a line a model, with what the comparisons of nights found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptaudit.query.history.nights import DATED, NightMark, Nights, NightVerdict, differs, night_names
from promptaudit.report.blocks.blocks import Block, DrawnSection, Panel, by
from promptaudit.report.blocks.cells import Printed, Traced, parts
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, Column, figure, table, words
from promptaudit.report.sections.nights_points import domains, drawn_measures, points
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import ABSENT, NAME, cut, ranged
from promptaudit.warehouse import Row

MOST_BLOCKS = 8  # five charts and 200 rows each: about a megabyte and six seconds at 60 nights
MOST_FINDINGS = 8  # a block
MOST_ROWS = 80  # a block: each has some twenty figures with their names, two kilobytes
NEWS = ("regressed", "changed")


def _size(of: Traced) -> Printed:
    return *parts(of.samples()), " × ", *parts(of.variants()), " × ", of.count("n_repetitions")


_COLUMNS = (
    words("Night", "night"),
    MODEL,
    words("Against normal nights", "against"),
    Column("Samples × variants × asks", _size, is_figure=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Up to four models of a task and strategy, a colour each, with their rows by night.

    part: which of how many models they are. names, dates: of each night by run id, oldest first. verdicts: what is told
    of these models against normal nights, newest first. marks: what people said of nights, and where something else was asked.
    """

    task_id: str
    strategy: str
    models: dict[str, list[Row]]
    part: str
    names: dict[str, str]
    dates: dict[str, str]
    verdicts: list[NightVerdict]
    marks: list[NightMark]

    @property
    def news(self) -> list[NightVerdict]:
        """Returns the verdicts that are worth a sentence."""
        return [row for row in self.verdicts if row.verdict in NEWS]

    def runs(self, verdict: str, measure: str | None = None) -> set[tuple[str, str]]:
        """Returns the (run, model) of which a figure has this verdict."""
        return {
            (row.audit_run_id, row.model_id)
            for row in self.verdicts
            if row.verdict == verdict and measure in (None, row.measure)
        }

    def bands(self, measure: str) -> dict[tuple[str, str], tuple[float, float]]:
        """Returns the normal band of a measure by (run, model)."""
        own = {(row.audit_run_id, row.model_id): row.band for row in self.verdicts if row.measure == measure}
        return {key: band for key, band in own.items() if band is not None}


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    nights = data.nights
    if len(nights.runs) < 2:  # noqa: PLR2004 - a line
        return
    section.intro = f"The last {len(nights.runs)} complete runs of this audit. {section.intro}"
    figures = [row for row in nights.figures if row["audit_run_id"] != nights.before]
    axes, groups = domains(figures), list(_groups(figures, nights))
    shown = _chosen(groups)
    section.blocks = [_block(group, axes) for group in shown]
    if len(shown) < len(groups):
        section.blocks[-1].notes.append(
            f"{len(shown)} of {len(groups)} groups of up to {len(panels.SERIES)} models are drawn, those with findings "
            "first; promptaudit history follows any of them."
        )


def _groups(figures: list[Row], nights: Nights) -> Iterator[Group]:
    runs, times = [run.audit_run_id for run in nights.runs], [run.started_at for run in nights.runs]
    names, dates = (dict(zip(runs, labels, strict=True)) for labels in (night_names(times), night_names(times, DATED)))
    newest_first = {run: -place for place, run in enumerate(runs)}
    verdicts = sorted(
        (row for row in nights.verdicts if row.audit_run_id in names),
        key=lambda row: (newest_first[row.audit_run_id], row.measure, row.model_id),
    )
    room = len(panels.SERIES)
    for task_id, of_task in sorted(by(figures, "task_id").items()):
        for strategy, rows in sorted(by(of_task, "strategy").items()):
            models = sorted(by(rows, "model_id").items())
            for start in range(0, len(models), room):
                own = dict(models[start : start + room])
                yield Group(
                    task_id=task_id,
                    strategy=strategy,
                    models=own,
                    part=f"models {start + 1} to {start + len(own)} of {len(models)}" if len(models) > room else "",
                    names=names,
                    dates=dates,
                    verdicts=[
                        row
                        for row in verdicts
                        if (row.task_id, row.strategy) == (task_id, strategy) and row.model_id in own
                    ],
                    marks=[mark for mark in nights.marks if any(mark.is_of(model, task_id, strategy) for model in own)],
                )


def _chosen(groups: list[Group]) -> list[Group]:
    """Returns what there is room for, in its order: groups with news first, then the first models of each task and strategy."""
    places: dict[tuple[str, str], int] = {}
    ranks = []
    for index, group in enumerate(groups):
        pair = (group.task_id, group.strategy)
        places[pair] = places.get(pair, -1) + 1
        ranks.append((not group.news, places[pair], index))
    return [groups[index] for index in sorted(rank[-1] for rank in sorted(ranks)[:MOST_BLOCKS])]


def _block(group: Group, axes: dict[tuple[str, str], panels.Domain]) -> Block:
    who = f"{cut(group.task_id, NAME // 2)} · {cut(group.strategy, NAME // 4)}"
    block = Block(task_id=f"{who} · {group.part}" if group.part else who, findings=_findings(group))
    block.legend = tuple((colour, cut(model, 60)) for colour, model in zip(panels.SERIES, group.models, strict=False))
    changed_runs = {run for run, _ in group.runs("changed")}
    changed = [name for run, name in group.names.items() if run in changed_runs]
    noted_runs = {mark.audit_run_id for mark in group.marks}
    noted = [name for run, name in group.names.items() if run in noted_runs]
    missing = []
    for measure in drawn_measures():
        column, name = measure.name, measure.label
        worse = group.runs("regressed", measure.compared or column)
        drawn = [
            point
            for series, rows in enumerate(group.models.values())
            for point in points(rows, column, series, group.names, worse, group.bands(column))
        ]
        if not drawn:
            missing.append(name)
            continue
        last = "; ".join(f"{cut(model, 60)} {_ranged(rows[-1], column)}" for model, rows in group.models.items())
        about = f"{who}{group.part and ', '}{group.part}: {name} over {len(group.names)} nights; the last of each model: {last}."
        picture = panels.nights(drawn, list(group.names.values()), axes[group.task_id, column], changed, about, noted)
        worse_end = "higher" if measure.direction == "lower" else "lower"
        block.panels.append(Panel(name, f"{worse_end} is worse", "", picture))
    if missing:
        block.notes.append(f"No figure in these nights: {', '.join(missing)}.")
    if len(group.news) > MOST_FINDINGS:
        block.notes.append(
            f"The newest {MOST_FINDINGS} of {len(group.news)} findings are told; promptaudit history has the rest."
        )
    # every figure that is drawn, the newest night first
    known = {name for rows in group.models.values() for row in rows for name in row}
    measures = [figure(own.label, own.name, Traced.ranged) for own in drawn_measures() if own.name in known]
    block.tables.append(table("Night by night", [*_COLUMNS, *measures], _lines(group), "rpt_audit", most=MOST_ROWS))
    return block


def _findings(group: Group) -> list[tuple[str, str]]:
    return [
        (
            f"{group.names[row.audit_run_id]}: {_news(row)}",
            f"{cut(row.model_id, NAME)}: {cut(row.reason or 'no reason is recorded')}",
        )
        for row in group.news[:MOST_FINDINGS]
    ]


def _news(row: NightVerdict) -> str:
    return f"{cut(row.measure, NAME)} {row.verdict}"


def _lines(group: Group) -> list[Row]:
    compared = {(row.audit_run_id, row.model_id) for row in group.verdicts}
    places = {run: place for place, run in enumerate(group.names)}
    lines: list[Row] = []
    for model, rows in group.models.items():
        for before, row in zip([None, *rows], rows, strict=False):
            run = row["audit_run_id"]
            changes = "" if before is None else differs(before, row)
            words = [f"not of the same: {changes}"] if changes else []
            words += [_news(own) for own in group.news if (own.audit_run_id, own.model_id) == (run, model)]
            words += [
                cut(mark.mark, NAME)
                for mark in group.marks
                if mark.audit_run_id == run and mark.is_of(model, group.task_id, group.strategy)
            ]
            quiet = "nothing regressed or changed" if (run, model) in compared else ABSENT
            lines.append({**row, "night": group.dates[run], "against": "; ".join(words) or quiet})
    return sorted(lines, key=lambda row: -places[row["audit_run_id"]])  # models keep their order within a night


def _ranged(row: Row, column: str) -> str:
    return ranged(row[column], row[f"{column}_low"], row[f"{column}_high"])


def _finding(data: ReportData) -> str:
    runs, news = data.nights.runs, [row for row in data.nights.verdicts if row.verdict in NEWS]
    nights = {row.audit_run_id for row in news}
    if not news:
        return f"No figure regressed or changed over {len(runs)} nights"
    return f"Figures regressed or changed on {len(nights)} of {len(runs)} nights"


nights = Section(
    name="nights",
    title="Over the nights",
    intro=(
        "Each line is a model; bands are 95 % intervals, and the darker ones the normal nights that a night is held "
        "against, with what chance makes of them. A line breaks where a night has no figure, or has other "
        "numbers of samples, variants or asks than the one before. A diamond marks a figure that regressed against "
        "normal nights, and a dashed rule marks a night on which answers changed. A whole rule marks a night that was accepted "
        "or pinned, or on which something else was asked; the table says which. An alarm takes a q of .005 at most, over all "
        "figures of the night and of other audits in the week before."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
