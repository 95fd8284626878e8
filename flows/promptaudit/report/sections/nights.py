"""Builds the sections on nights and gates: measures by night, what changed, the gate's verdict, format checks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from promptaudit.marts.comparison.result import NEWS as MOVED
from promptaudit.marts.comparison.result import VERDICTS
from promptaudit.query.history.nights import DATED, NightMark, Nights, NightVerdict, differs, night_names
from promptaudit.registry.mart_columns import ENDS, MartColumn, compared_unit, scorecard_columns
from promptaudit.report.blocks.blocks import Block, DrawnSection, Panel, by, by_columns
from promptaudit.report.blocks.cells import Printed, Traced, parts
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.queries import MOST_ROWS as MOST_CHECKS
from promptaudit.report.sections.columns import (
    COMPARED,
    COMPARED_NAMES,
    DETECTABLE,
    LONG_WORDING,
    MODEL,
    STRATEGY,
    Column,
    Q,
    compared_figures,
    figure,
    gravest_first,
    table,
    variant_number,
    words,
)
from promptaudit.report.sections.section import Section, point
from promptaudit.report.sections.words import with_ends
from promptaudit.report.summary_causes import base_of, last_comparable
from promptaudit.report.summary_worst import mart_of
from promptaudit.system.display.compared import Compared
from promptaudit.system.display.figures import ABSENT, NAME, count, cut, in_unit
from promptaudit.system.display.movement import why
from promptaudit.warehouse import Row

MOST_BLOCKS = 8  # five charts and 200 rows each: about a megabyte and six seconds at 60 nights
MOST_FINDINGS = 8  # a block
MOST_ROWS = 80  # a block: each has some twenty figures with their names, two kilobytes
NEWS = ("regressed", "changed")


def _size(of: Traced) -> Printed:
    return *parts(of.samples()), " × ", *parts(of.variants()), " × ", of.count("n_repetitions")


_COLUMNS = (
    *(words("Night", "night"), MODEL, words("Against normal nights", "against")),
    Column("Samples × variants × asks", _size, is_figure=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Up to four models of a task and strategy, a colour each, with their rows by night.

    part: which of how many models they are. names, dates: by run id, for each night, oldest first. verdicts: how these
    models compare with normal nights, newest first. marks: what people noted about nights, and where something else was
    asked.
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
        """The verdicts that get a sentence: regressed and changed."""
        return [row for row in self.verdicts if row.verdict in NEWS]

    def runs(self, verdict: str, measure: str | None = None) -> set[tuple[str, str]]:
        """Collects the (run, model) in which a figure has this verdict."""
        return {
            (row.audit_run_id, row.model_id)
            for row in self.verdicts
            if row.verdict == verdict and measure in (None, row.measure)
        }

    def bands(self, measure: str) -> dict[tuple[str, str], tuple[float, float]]:
        """Maps (run, model) to the normal band of a measure."""
        own = {(row.audit_run_id, row.model_id): row.band for row in self.verdicts if row.measure == measure}
        return {key: band for key, band in own.items() if band is not None}


def _fill_nights(section: DrawnSection, data: ReportData) -> None:
    nights = data.nights
    if len(nights.runs) < 2:  # noqa: PLR2004 - a line
        return
    figures = [row for row in nights.figures if row["audit_run_id"] != nights.before]
    axes, groups = domains(figures), list(_groups(figures, nights))
    shown = _chosen(groups)
    section.blocks = [_block(group, axes) for group in shown]
    if len(shown) < len(groups):
        some = f"{len(shown)} of {len(groups)} groups of up to {len(panels.SERIES)} models are drawn"
        note = f"{some}, those with findings first; promptaudit history follows any of them."
        section.blocks[-1].notes.append(note)


def _groups(figures: list[Row], nights: Nights) -> Iterator[Group]:
    runs, times = [run.audit_run_id for run in nights.runs], [run.started_at for run in nights.runs]
    names, dates = (dict(zip(runs, labels, strict=True)) for labels in (night_names(times), night_names(times, DATED)))
    newest_first = {run: -place for place, run in enumerate(runs)}
    verdicts = sorted(
        (row for row in nights.verdicts if row.audit_run_id in names),
        key=lambda row: (newest_first[row.audit_run_id], row.measure, row.model_id),
    )
    room = len(panels.SERIES)
    for (task_id, strategy), rows in sorted(by_columns(figures, "task_id", "strategy").items()):
        models = sorted(by(rows, "model_id").items())
        for start in range(0, len(models), room):
            own = dict(models[start : start + room])
            keys = {(model, task_id, strategy) for model in own}
            yield Group(
                task_id=task_id,
                strategy=strategy,
                models=own,
                part=f"models {start + 1} to {start + len(own)} of {len(models)}" if len(models) > room else "",
                names=names,
                dates=dates,
                verdicts=[row for row in verdicts if (row.model_id, row.task_id, row.strategy) in keys],
                marks=[mark for mark in nights.marks if any(mark.is_of(*key) for key in keys)],
            )


def _chosen(groups: list[Group]) -> list[Group]:
    # groups with news come first, then the first models of each task and strategy; the order stays
    places: Counter[tuple[str, str]] = Counter()
    ranks = []
    for index, group in enumerate(groups):
        pair = (group.task_id, group.strategy)
        ranks.append((not group.news, places[pair], index))
        places[pair] += 1
    return [groups[index] for index in sorted(rank[-1] for rank in sorted(ranks)[:MOST_BLOCKS])]


def _block(group: Group, axes: dict[tuple[str, str], panels.Domain]) -> Block:
    who = f"{cut(group.task_id, NAME // 2)} · {cut(group.strategy, NAME // 4)}"
    block = Block(task_id=f"{who} · {group.part}" if group.part else who)
    for row in group.news[:MOST_FINDINGS]:
        reason = f"{cut(row.model_id, NAME)}: {cut(row.reason or 'no reason is recorded')}"
        block.findings.append((f"{group.names[row.audit_run_id]}: {_news(row)}", reason))
    block.legend = tuple((colour, cut(model, 60)) for colour, model in zip(panels.SERIES, group.models, strict=False))
    runs = {run for run, _ in group.runs("changed")}, {mark.audit_run_id for mark in group.marks}
    changed, noted = ([name for run, name in group.names.items() if run in own] for own in runs)
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
        last = "; ".join(f"{cut(model, 60)} {with_ends(rows[-1], column)}" for model, rows in group.models.items())
        about = f"{who}{group.part and ', '}{group.part}: {name} over {len(group.names)} nights; the last of each model: {last}."
        picture = panels.nights(drawn, list(group.names.values()), axes[group.task_id, column], changed, about, noted)
        worse_end = "higher" if measure.direction == "lower" else "lower"
        block.panels.append(Panel(name, f"{worse_end} is worse", "", picture))
    if missing:
        block.notes.append(f"No figure in these nights: {', '.join(missing)}.")
    if len(group.news) > MOST_FINDINGS:
        some = f"The newest {MOST_FINDINGS} of {len(group.news)} findings are told"
        block.notes.append(f"{some}; promptaudit history has the rest.")
    # every figure that is drawn, the newest night first
    known = {name for rows in group.models.values() for row in rows for name in row}
    measures = [figure(own.label, own.name, Traced.ranged) for own in drawn_measures() if own.name in known]
    block.tables.append(table("Night by night", [*_COLUMNS, *measures], _lines(group), "rpt_audit", most=MOST_ROWS))
    return block


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
            marks = [mark for mark in group.marks if mark.audit_run_id == run]
            words += [cut(mark.mark, NAME) for mark in marks if mark.is_of(model, group.task_id, group.strategy)]
            quiet = "nothing regressed or changed" if (run, model) in compared else ABSENT
            lines.append({**row, "night": group.dates[run], "against": "; ".join(words) or quiet})
    return sorted(lines, key=lambda row: -places[row["audit_run_id"]])  # models keep their order within a night


def _nights_with_news(data: ReportData) -> str:
    runs, news = data.nights.runs, [row for row in data.nights.verdicts if row.verdict in NEWS]
    nights = {row.audit_run_id for row in news}
    if not news:
        return f"No figure regressed or changed over {len(runs)} nights"
    return f"Figures regressed or changed on {len(nights)} of {len(runs)} nights"


def drawn_measures() -> tuple[MartColumn, ...]:
    """Lists the measures that are drawn over the nights, in the scorecard's order."""
    return tuple(column for column in scorecard_columns() if column.is_in_nights)


def domains(figures: Sequence[Row]) -> dict[tuple[str, str], panels.Domain]:
    """Computes one axis for each task and measure, shared by all its charts: whole tenths around figures and intervals.

    If lower is better, it starts at 0 (down to -.1 for corrected figures below 0) and ends at 1 at most; if higher is
    better, it ends at 1 (`panels.domain_of`).
    """
    out = {}
    for task_id, own in by(figures, "task_id").items():
        for measure in drawn_measures():
            column, figures_of = measure.name, [row.get(measure.name + end) for row in own for end in ("", *ENDS)]
            known = [figure for figure in figures_of if figure is not None]
            if measure.direction == "lower":
                high = math.ceil(max(known, default=0.0) * 10 - 1e-9) / 10
                low = math.floor(min(known, default=0.0) * 10) / 10
                out[task_id, column] = max(-0.1, min(0.0, low)), min(1.0, max(0.1, high))
            else:
                out[task_id, column] = panels.domain_of(known)
    return out


def points(
    rows: Sequence[Row],
    column: str,
    series: int,
    names: dict[str, str],
    worse: set[tuple[str, str]],
    bands: Mapping[tuple[str, str], tuple[float, float]] = MappingProxyType({}),
) -> list[Row]:
    """Prepares a model's figures for `panels.nights`.

    Successive nights that compare share a segment.

    rows: one per night, oldest first. names: all nights by run id, in order. worse: (run, model) to mark. bands: the
    normal band of each (run, model) that has one.
    """
    places = {run: place for place, run in enumerate(names)}
    out: list[Row] = []
    last: Row | None = None
    for row in rows:
        run = row["audit_run_id"]
        if row.get(column) is None:
            continue
        is_next = last is not None and places[run] == places[last["audit_run_id"]] + 1
        is_joined = is_next and last is not None and not differs(last, row)
        own = {"night": names[run], "series": series, "model": cut(row["model_id"], 60)}
        own["segment"] = out[-1]["segment"] if is_joined else f"{series} {len(out)}"
        own["is_marked"] = (run, row["model_id"]) in worse
        own |= zip(("normal_low", "normal_high"), bands.get((run, row["model_id"]), ()), strict=False)
        out.append(point("rpt_audit", row, column, **own))
        last = row
    n_of_segment = Counter(drawn["segment"] for drawn in out)
    return [{**drawn, "is_alone": n_of_segment[drawn["segment"]] == 1} for drawn in out]


nights = Section(
    name="nights",
    title="Over the nights",
    intro=lambda data: (
        f"The last {len(data.nights.runs)} complete runs of this audit. Each line is a model; bands are 95 % intervals, and the "
        "darker ones the normal nights that a night is held against, with what chance makes of them. A line breaks where a night "
        "has no figure, or has other numbers of samples, variants or asks than the one before. A diamond marks a figure that "
        "regressed against normal nights, and a dashed rule marks a night on which answers changed. A whole rule marks a night "
        "that was accepted or pinned, or on which something else was asked; the table says which. An alarm takes a q of .005 at "
        "most, over all figures of the night and of other audits in the week before."
    ),
    whole=_fill_nights,
    finding=_nights_with_news,
)

# what changed: this run against the runs that it was compared with

MOST_TOGETHER = 4  # a finding; all of them stand in the table
_CHANGES = (*COMPARED_NAMES, *compared_figures("This run"), Q)


def _fill_changes(section: DrawnSection, data: ReportData) -> None:
    at_top = last_comparable(data.changes)  # these stand at the page's beginning
    for own in by(data.changes, "comparison_id").values():
        block = section.add(base_of(own[0]))
        news = gravest_first([row for row in own if row["verdict"] in MOVED])
        block.findings = [] if own == at_top else _findings_with_reasons(news)
        if not news:
            block.absent.append("No measure regressed, changed or improved.")
        block.notes.append(f"{counts_of(own)}.")
        if block.findings and len({why(Compared.of(row)) for row in news}) > MOST_FINDINGS:
            block.notes.append(f"The first {MOST_FINDINGS} reasons are told; the table has every measure.")
        columns = (*_CHANGES, DETECTABLE) if mart_of(own[0]) == COMPARED else _CHANGES
        block.tables.append(table("Measures compared", columns, news or own, mart_of, n_heads=5))


def counts_of(rows: Sequence[Row]) -> str:
    """Counts the measures by verdict, the gravest first, in words."""
    n = Counter(row["verdict"] for row in rows)
    return ", ".join(f"{n[verdict]} {verdict.replace('_', ' ')}" for verdict in VERDICTS if n[verdict])


def _findings_with_reasons(news: list[Row]) -> list[tuple[str, str]]:
    # measures with one reason share a finding, the gravest first
    by_reason = by([{**row, "why": why(Compared.of(row)) or "no reason is recorded"} for row in news], "why")
    findings = []
    for reason, rows in list(by_reason.items())[:MOST_FINDINGS]:
        more = f"; and {len(rows) - MOST_TOGETHER} more" if len(rows) > MOST_TOGETHER else ""
        findings.append(("; ".join(map(_phrase, rows[:MOST_TOGETHER])) + more, cut(reason)))
    return findings


def _phrase(row: Row) -> str:
    who = " / ".join(cut(row[name], NAME) for name in ("model_id", "task_id", "strategy"))
    before, now = (in_unit(row[name], compared_unit(row["measure"])) for name in ("base", "candidate"))
    return f"{row['measure']} {row['verdict']}, {who}, {before} → {now}"


def _against_first(data: ReportData) -> str:
    own = next(iter(by(data.changes, "comparison_id").values()))
    return f"Against {base_of(own[0])}: {counts_of(own)}"


run_changes = Section(
    name="run_changes",
    title="What changed",
    intro="This run is compared with normal nights and with pinned runs, on the samples that both have. Regressed "
    "and improved figures differ beyond chance and by more than the audit's smallest effect, and are told "
    "until the figure is back. Changed means that the same questions are answered otherwise than asking twice "
    "explains. q says how often chance alone would show as much in any of the figures.",
    whole=_fill_changes,
    finding=_against_first,
)

# the gate: the rules of the audit's card, checked against the run at any age

LONGEST = 400  # characters of a rule, of what is found, of a command
_RULES = (
    *(words("Outcome", "outcome"), words("Rule", "rule"), words("Found", "found")),
    words("Look closer", "look_closer"),
)


def _fill_gate(section: DrawnSection, data: ReportData) -> None:
    from promptaudit.gate.outcome import NAMED

    if data.gate is None or not data.gate.rules:
        return
    order = list(NAMED)  # the gravest first
    lines = []
    for result in sorted(data.gate.rules, key=lambda result: order.index(result.outcome)):
        shown, n_more = result.shown_rows()
        found = [result.reason, *(f"{each.name}: {each.figures}" for each in shown)]
        found += [f"and {n_more} more"] if n_more else []
        line = {"rule": [result.rule], "found": found, "look_closer": result.look_closer}
        texts = {name: "; ".join(cut(text, LONGEST) for text in own) for name, own in line.items()}
        lines.append({"outcome": NAMED[result.outcome].capitalize(), **texts})
    section.add().tables.append(table("Rules of the gate", _RULES, lines, is_open=True))


gate_rules = Section(
    name="gate_rules",
    title="Verdict of the gate",
    intro="Each rule of the audit's card is held against every row of this run that it is about. A rule without a "
    "figure does not pass. What people accepted or pinned since then counts; the run's age does not.",
    whole=_fill_gate,
    finding=lambda data: data.summary.outcome.reason.rstrip("."),
)

# the format gate: the checks that failed, and the variants that break their format


def _fill_formats(section: DrawnSection, data: ReportData) -> None:
    block, variants, n_failed = section.add(), data.by_variant, _n_failed(data)
    if not data.n_checks:
        block.absent.append("No format check was made for this run.")
    else:
        block.notes.append(f"{count(n_failed)} of {count(data.n_checks)} checks failed.")
    if n_missing := data["not_derived"][0]["n"]:
        figures = "1 figure" if n_missing == 1 else f"{count(n_missing)} figures"
        block.notes.append(f"{figures} could not be derived; rpt_not_derived says which, and why.")
    if data.has_formats_page:
        link = f"reports/{quote(data.run['audit_run_id'], safe='')}.formats.html"
        block.links.append((link, "What was expected of the formats, by Great Expectations"))
    if n_failed:
        checks = (
            *(words("Model", "model_id", "all"), words("Task", "task_id", "all")),
            Column("Strategy", lambda of: _of_variant(of.row, variants, lambda row: row["strategy"])),
            Column("Variant", lambda of: _of_variant(of.row, variants, variant_number)),
            *(words("Check", "expectation"), Column("Found", lambda of: cut(of.row["reason"] or ""))),
            words("Action", "action"),
        )
        note = "" if n_failed <= MOST_CHECKS else f"The worst {MOST_CHECKS} of {count(n_failed)}."
        block.tables.append(table("Checks that failed", checks, data.failed_checks, n_heads=4, is_open=True, note=note))
    breaking = [row for row in data.formats if row["is_breaking"]]
    if not breaking:
        block.absent.append("No variant breaks its format.")
        return
    lines = [{**row, "variant": variants.get(row["prompt_variant_id"])} for row in breaking]
    caption = f"Variants that break their format: {len(breaking)}"
    block.tables.append(table(caption, _BREAKING, lines, n_heads=4, is_open=True))


_BREAKING = (
    *(MODEL, words("Task", "task_id"), STRATEGY, Column("Variant", lambda of: variant_number(of.row["variant"]))),
    Column("Reason", lambda of: cut(of.row["breaking_reason"] or "")),
    Column("Instruction", lambda of: cut((of.row["variant"] or {}).get("instruction") or "", LONG_WORDING)),
)


def _n_failed(data: ReportData) -> int:
    return data.failed_checks[0]["n_failed"] if data.failed_checks else 0


def _of_variant(check: Row, variants: Mapping[str, Row], said: Callable[[Row], str]) -> str:
    # "all": a check of all answers together
    if check["prompt_variant_id"] is None:
        return "all"
    variant = variants.get(check["prompt_variant_id"])
    return "?" if variant is None else said(variant)


def _checks(data: ReportData) -> str:
    if not data.n_checks:
        return ""
    n_failed, n_checks = _n_failed(data), count(data.n_checks)
    checks = (
        f"{count(n_failed)} of {n_checks} format checks failed" if n_failed else f"All {n_checks} format checks passed"
    )
    n_breaking = sum(bool(row["is_breaking"]) for row in data.formats)
    return f"{checks}, {count(n_breaking) if n_breaking else 'no'} variant{'s break' if n_breaking > 1 else ' breaks'} the format"


format_gate = Section(
    name="format_gate",
    title="Format checks",
    intro="These checks of the answers' formats were made before anything was measured. A variant that breaks its format is "
    "named, and its answers count in every figure.",
    queries=("not_derived",),
    whole=_fill_formats,
    finding=_checks,
)
