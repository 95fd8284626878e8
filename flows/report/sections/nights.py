"""The section on an audit's nights: each measure as a line a model, with what the comparisons of nights said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flows.display.figures import ABSENT, NAME, cut, ranged
from flows.history.nights import DATED, Nights, differs, night_names
from flows.report.blocks.blocks import Block, Panel, Section, Table, limited
from flows.report.blocks.cells import Printed, Traced
from flows.report.charts import panels
from flows.report.gather import Gathered
from flows.report.sections.nights_points import Domain, domains, drawn_measures, points
from flows.warehouse import Row

MOST_BLOCKS = 8  # five charts and 200 rows each: about a megabyte and six seconds at 60 nights
MOST_FINDINGS = 8  # a block
MOST_ROWS = 80  # a block: each has some twenty figures with their names, two kilobytes
TOLD = ("regressed", "changed")


class Group(NamedTuple):
    """Up to four models of a task and strategy, a colour each, with their rows by night; which of how many they are."""

    task_id: str
    strategy: str
    models: dict[str, list[Row]]
    part: str


@dataclass(frozen=True, slots=True)
class Told:
    """A group's nights by run id, oldest first, with their short and dated names, and its verdicts, newest first."""

    names: dict[str, str]
    dates: dict[str, str]
    verdicts: list[Row]

    def runs(self, verdict: str, measure: str | None = None) -> set[tuple[str, str]]:
        """The (run, model) of which the comparison with the night before says so."""
        return {
            (row["audit_run_id"], row["model_id"])
            for row in self.verdicts
            if row["verdict"] == verdict and measure in (None, row["measure"])
        }


def trend(found: Gathered) -> list[Section]:
    """The section, where the audit has two complete runs up to this one; nothing for its first night."""
    nights = found.nights
    if len(nights.runs) < 2:  # noqa: PLR2004 - a line
        return []
    section = Section(
        "nights",
        "Over the nights",
        f"The last {len(nights.runs)} complete runs of this audit, a line a model; bands are 95 % intervals. A line breaks "
        "where a night has no figure or is of other numbers of samples, variants or asks than the one before. A diamond "
        "marks a figure that regressed against the night before, a dashed rule a night on which answers changed.",
    )
    figures = [row for row in nights.figures if row["audit_run_id"] != nights.before]
    groups, axes = _groups(figures), domains(figures)
    drawn = _chosen(groups, nights)
    section.blocks = [_block(group, _told(nights, group), axes) for group in drawn]
    if len(drawn) < len(groups):
        section.blocks[-1].notes.append(
            f"{len(drawn)} of {len(groups)} groups of up to {len(panels.SERIES)} models are drawn, those of which something "
            "is said first; promptaudit history follows any of them."
        )
    return [section] if section.blocks else []


def _groups(figures: list[Row]) -> list[Group]:
    by_pair: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in figures:
        by_pair.setdefault((row["task_id"], row["strategy"]), {}).setdefault(row["model_id"], []).append(row)
    out, room = [], len(panels.SERIES)
    for (task_id, strategy), models in sorted(by_pair.items()):
        names = sorted(models)
        for start in range(0, len(names), room):
            own = {name: models[name] for name in names[start : start + room]}
            part = f"models {start + 1} to {start + len(own)} of {len(names)}" if len(names) > room else ""
            out.append(Group(task_id, strategy, own, part))
    return out


def _chosen(groups: list[Group], nights: Nights) -> list[Group]:
    """What there is room for, in its order: groups that something is said of first, then the first models of each pair."""
    said = {(row["task_id"], row["strategy"], row["model_id"]) for row in nights.verdicts if row["verdict"] in TOLD}
    places: dict[tuple[str, str], int] = {}
    ranks = []
    for index, group in enumerate(groups):
        pair = (group.task_id, group.strategy)
        places[pair] = places.get(pair, -1) + 1
        ranks.append((not any((*pair, model) in said for model in group.models), places[pair], index))
    return [groups[index] for index in sorted(rank[-1] for rank in sorted(ranks)[:MOST_BLOCKS])]


def _told(nights: Nights, group: Group) -> Told:
    runs, times = [run["audit_run_id"] for run in nights.runs], [run["started_at"] for run in nights.runs]
    names = dict(zip(runs, night_names(times), strict=True))
    places = {run: place for place, run in enumerate(runs)}
    own = [
        row for row in nights.verdicts
        if (row["task_id"], row["strategy"]) == (group.task_id, group.strategy) and row["model_id"] in group.models
        and row["audit_run_id"] in names
    ]  # fmt: skip
    own.sort(key=lambda row: (-places[row["audit_run_id"]], row["measure"], row["model_id"]))
    return Told(names, dict(zip(runs, night_names(times, DATED), strict=True)), own)


def _block(group: Group, told: Told, axes: dict[tuple[str, str], Domain]) -> Block:
    who = f"{cut(group.task_id, NAME // 2)} · {cut(group.strategy, NAME // 4)}"
    block = Block(task_id=f"{who} · {group.part}" if group.part else who, findings=_findings(told))
    block.legend = tuple((colour, cut(model, 60)) for colour, model in zip(panels.SERIES, group.models, strict=False))
    changed = [told.names[run] for run in told.names if any(run == other for other, _ in told.runs("changed"))]
    missing = []
    for measure in drawn_measures():
        column, name = measure.name, measure.label
        worse = told.runs("regressed", measure.compared or column)
        drawn = [
            point
            for series, rows in enumerate(group.models.values())
            for point in points(rows, column, series, told.names, worse)
        ]
        if not drawn:
            missing.append(name)
            continue
        last = "; ".join(f"{cut(model, 60)} {_ranged(rows[-1], column)}" for model, rows in group.models.items())
        about = f"{who}{group.part and ', '}{group.part}: {name} over {len(told.names)} nights; the last of each model: {last}."
        picture = panels.nights(drawn, list(told.names.values()), axes[group.task_id, column], changed, about)
        block.panels.append(
            Panel(name, f"{'higher' if measure.direction == 'lower' else 'lower'} is worse", "", picture)
        )
    if missing:
        block.notes.append(f"No figure in these nights: {', '.join(missing)}.")
    n_told = sum(row["verdict"] in TOLD for row in told.verdicts)
    if n_told > MOST_FINDINGS:
        block.notes.append(
            f"The newest {MOST_FINDINGS} of {n_told} findings are told; promptaudit history has the rest."
        )
    block.tables.append(_table(group, told))
    return block


def _findings(told: Told) -> list[tuple[str, str]]:
    rows = [row for row in told.verdicts if row["verdict"] in TOLD]
    return [
        (f"{told.names[row['audit_run_id']]}: {cut(row['measure'], NAME)} {row['verdict']}",
         f"{cut(row['model_id'], NAME)}: {cut(row['reason'] or 'no reason is recorded')}")
        for row in rows[:MOST_FINDINGS]
    ]  # fmt: skip


def _table(group: Group, told: Told) -> Table:
    """Every figure that is drawn, and the published sensitivity beside the corrected one; the newest night first."""
    compared = {(row["audit_run_id"], row["model_id"]) for row in told.verdicts}
    said: dict[tuple[str, str], list[str]] = {}
    for row in told.verdicts:
        if row["verdict"] in TOLD:
            said.setdefault((row["audit_run_id"], row["model_id"]), []).append(
                f"{cut(row['measure'], NAME)} {row['verdict']}"
            )
    places = {run: place for place, run in enumerate(told.names)}
    known = {name for rows in group.models.values() for row in rows for name in row}
    measures = [measure for measure in drawn_measures() if measure.name in known]
    lines: list[tuple[int, tuple[Printed, ...]]] = []
    for model, rows in group.models.items():
        for before, row in zip([None, *rows], rows, strict=False):
            run = row["audit_run_id"]
            changes = "" if before is None else differs(before, row)
            words = [*([f"not of the same: {changes}"] if changes else []), *said.get((run, model), [])]
            quiet = "nothing regressed or changed" if (run, model) in compared else ABSENT
            of = Traced("rpt_audit", row)
            size = (of.count("n_samples"), " × ", of.count("n_variants"), " × ", of.count("n_repetitions"))
            cells = (told.dates[run], model, "; ".join(words) or quiet, size, of.number("sensitivity"))
            lines.append((-places[run], (*cells, *(of.ranged(measure.name) for measure in measures))))
    lines.sort(key=lambda line: line[0])  # stable: models keep their order within a night
    kept, note = limited([cells for _, cells in lines], MOST_ROWS)
    columns = (
        "Night", "Model", "Against the night before", "Samples × variants × asks", "Sensitivity",
        *(measure.label for measure in measures),
    )  # fmt: skip
    return Table(
        caption="Night by night", columns=columns, rows=kept, n_heads=2, n_figures=2 + len(measures), note=note
    )


def _ranged(row: Row, column: str) -> str:
    return ranged(row[column], row[column + "_low"], row[column + "_high"])
