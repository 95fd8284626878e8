"""The sections on PSS: by repetition, by wording, between models."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from flows.display.figures import NAME, count, cut, number, ranged, span
from flows.report.blocks.blocks import Block, Budget, Group, Section, Table, by_group, by_task, limited
from flows.report.blocks.cells import Printed, Traced
from flows.report.charts import panels
from flows.report.charts.curves import Axes, curves
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted
from flows.report.sections.sensitivity import why_no_answers, why_one_wording, why_open
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

_BANDS = (("first", "labels (valid answers)"), ("second", "verbatim (every distinct completion)"))
_SERIES = tuple(panels.PSS_SERIES)
_PSS = ("Model", "Strategy", "Answers", "Annotators", "Samples", "PSS", "95 % interval")
_BY_K = ("Model", "Strategy", "Answers", "Asks", "First k", "95 % interval", "k against k - 1", "95 % interval")
CONVENTION = "A threshold of .8 is often read as stable; that is a convention, and no law."


def repetition(found: Gathered, budget: Budget, room: Room) -> Section:
    """PSS of the original wording over its identical asks: the first k, and each against the one before."""
    section = Section(
        "repetition",
        "PSS by repetition",
        "Agreement of a model with itself over the first k identical asks of the original wording (cumulative), and of each "
        f"ask with the one before (adjacent); 1 is perfect. Bands and lines are 95 % intervals. {CONVENTION}",
    )
    intra = [row for row in found.stabilities if row["scope"] == "intra"]
    rows_of = by_task([row for row in intra if row["series"] == "cumulative"])
    adjacent = by_task([row for row in intra if row["series"] == "adjacent"])
    for task_id, block, rows in section.of_tasks(found.scorecard):
        block.legend = _BANDS
        if task_id not in rows_of:
            once = "No original wording was asked twice, so there are no repetitions to compare."
            block.absent.append(why_open(found, task_id) or why_no_answers(rows) or once)
            continue
        _draw_series(block, rows_of[task_id], budget, "asks of the same prompt", has_table=False)
        next_to = adjacent.get(task_id, [])
        if any(row["n_annotators"] > 2 for row in next_to):  # noqa: PLR2004 - with two asks both are the same
            _draw_adjacent(block, next_to, room)
        _last_of(block, rows_of[task_id], "PSS over all repetitions")
        block.tables.append(_by_k(rows_of[task_id], next_to, room))
    return section


def paraphrase(found: Gathered, budget: Budget) -> Section:
    """PSS over wordings: by paraphrase temperature, or by their number where there is no temperature."""
    inter = [row for row in found.stabilities if row["scope"] == "inter"]
    is_warm = any(row["paraphrase_temperature"] is not None for row in inter)
    section = Section(
        "paraphrase",
        "PSS by paraphrase temperature" if is_warm else "PSS by number of wordings",
        "Agreement of a model with itself over rephrased prompts, original included: at each temperature of the rephraser, "
        f"or over the first k wordings where it has none. Lines and bands are 95 % intervals. {CONVENTION}",
    )
    rows_of = by_task(inter)
    for task_id, block, rows in section.of_tasks(found.scorecard):
        if task_id not in rows_of:
            block.absent.append(why_open(found, task_id) or why_one_wording(rows, "PSS over wordings"))
            continue
        both = rows_of[task_id]
        warm = [row for row in both if row["paraphrase_temperature"] is not None and row["series"] == "all"]
        cold = [row for row in both if row["paraphrase_temperature"] is None and row["series"] == "cumulative"]
        if warm or cold:
            block.legend = _BANDS
        if warm:
            domain = _domain(warm)

            def panel(
                who: str, _group: Group, rows: list[Row], domain: tuple[float, float] = domain
            ) -> tuple[str, Markup]:
                said = "; ".join(
                    f"{row['paraphrase_temperature']:g}: {number(row['pss'])}"
                    for row in [row for row in rows if row["annotation_filter"] == "valid"][:12]
                )
                label = f"{who}PSS at each paraphrase temperature, of labels: {said}."
                ticks = sorted({row["paraphrase_temperature"] for row in rows})
                axes = Axes(x="paraphrase temperature", y="PSS", ticks=ticks, domain=domain)
                return "", curves(_points(rows, "paraphrase_temperature"), _SERIES, axes, _fields("temperature"), label)

            budget.draw(block, by_group(warm), panel)
        if cold:
            _draw_series(block, cold, budget, "wordings")
        _by_wording(block, [row for row in both if row["series"] == "all"])
    _between_models(section, found)
    return section


def _draw_series(block: Block, rows: list[Row], budget: Budget, axis: str, *, has_table: bool = True) -> None:
    domain = _domain(rows)

    def panel(who: str, _group: Group, rows: list[Row]) -> tuple[str, Markup]:
        points = [
            {"series": row["annotation_filter"], "k": row["n_annotators"], "pss": row["pss"], "low": row["pss_low"],
             "high": row["pss_high"], "figure": figure_id("fct_prompt_stability", row, "pss")}
            for row in rows
        ]  # fmt: skip
        last = {row["annotation_filter"]: row for row in rows}
        said = ", ".join(f"{name} {ranged(row['pss'], row['pss_low'], row['pss_high'])}" for name, row in last.items())
        most = max(row["n_annotators"] for row in rows)
        label = f"{who}PSS over the first 2 to {most} {axis}; over all of them: {said}."
        return "", panels.lines(points, domain, axis, label, has_table=has_table)

    budget.draw(block, by_group(rows), panel)


def _draw_adjacent(block: Block, rows: list[Row], room: Room) -> None:
    domain = _domain(rows)

    def wanted(group: Group, own: list[Row]) -> Wanted:
        def draw() -> tuple[str, Markup]:
            who = ", ".join(cut(name, NAME) for name in (*group, block.task_id))
            values = [row["pss"] for row in own if row["pss"] is not None]
            ticks = sorted({row["n_annotators"] for row in own})
            axes = Axes(x="ask k against ask k - 1", y="PSS", ticks=ticks, domain=domain)
            label = f"{who}: PSS of each ask of the same prompt with the ask before, {span(values)}."
            return f"adjacent, {span(values)}", curves(
                _points(own, "n_annotators"), _SERIES, axes, _fields("ask"), label
            )

        return Wanted(*group, draw)

    room.draw(block, [wanted(group, own) for group, own in by_group(rows).items()], "charts of adjacent asks")


def _domain(rows: list[Row]) -> tuple[float, float]:
    return panels.domain_of([row["pss_low"] if row["pss_low"] is not None else row["pss"] for row in rows])


def _points(rows: list[Row], at: str) -> list[Row]:
    return [
        {"at": row[at], "series": row["annotation_filter"], "value": row["pss"], "low": row["pss_low"],
         "high": row["pss_high"], "figure": figure_id("fct_prompt_stability", row, "pss")}
        for row in rows
    ]  # fmt: skip


def _fields(at: str) -> dict[str, str]:
    return {"series": "answers", "at": at, "value": "PSS", "low": "low", "high": "high"}


def _by_k(cumulative: list[Row], adjacent: list[Row], room: Room) -> Table:
    """Both series side by side, as far as there is room."""
    beside = {(*_who(row), row["n_annotators"]): row for row in adjacent}
    lines = []
    for row in cumulative:
        of, other = Traced("fct_prompt_stability", row), beside.get((*_who(row), row["n_annotators"]))
        next_to: tuple[Printed, Printed] = ("", "")
        if other is not None:
            next_to = (_pss(other), Traced("fct_prompt_stability", other).bounds("pss"))
        lines.append((*_who(row), count(row["n_annotators"]), _pss(row), of.bounds("pss"), *next_to))
    note = _explained([*cumulative, *adjacent], "")
    return room.table("PSS by number of asks", _BY_K, lines, 3, 5, note=note)


def _who(row: Row) -> tuple[str, str, str]:
    return row["model_id"], row["strategy"], row["annotation_filter"]


def _pss(row: Row) -> Printed:
    return Traced("fct_prompt_stability", row).number("pss", mark=_mark(row))


def _last_of(block: Block, rows: list[Row], caption: str) -> None:
    last = {(row["model_id"], row["strategy"], row["annotation_filter"]): row for row in rows}
    lines = [
        (model, strategy, answers, count(row["n_annotators"]), count(row["n_samples"]), _pss(row),
         Traced("fct_prompt_stability", row).bounds("pss"))
        for (model, strategy, answers), row in last.items()
    ]  # fmt: skip
    kept, note = limited(lines)
    block.tables.append(
        Table(caption=caption, columns=_PSS, rows=kept, n_heads=3, n_figures=4, note=_explained(rows, note))
    )


def _by_wording(block: Block, rows: list[Row]) -> None:
    lines = [
        (row["model_id"], row["strategy"], row["annotation_filter"],
         "none" if row["paraphrase_temperature"] is None else f"{row['paraphrase_temperature']:g}",
         count(row["n_annotators"]),
         count(row["n_distinct_wordings"]), count(row["n_samples"]), _pss(row),
         Traced("fct_prompt_stability", row).bounds("pss"), Traced("fct_prompt_stability", row).bounds("pss_wordings"))
        for row in rows
    ]  # fmt: skip
    kept, note = limited(lines)
    columns = ("Model", "Strategy", "Answers", "Temperature", "Variants", "Distinct wordings", "Samples", "PSS",
               "95 % interval, these wordings", "for other wordings too")  # fmt: skip
    block.tables.append(
        Table(
            caption="PSS over wordings", columns=columns, rows=kept, n_heads=3, n_figures=7, note=_explained(rows, note)
        )
    )


def _between_models(section: Section, found: Gathered) -> None:
    rows = [row for row in found.stabilities if row["scope"] == "inter_model" and row["series"] == "all"]
    for task_id, between in by_task(rows).items():
        block = next((block for block in section.blocks if block.task_id == task_id), None)
        if block is None:
            continue
        lines = [
            (row["strategy"], row["annotation_filter"], count(row["n_annotators"]), count(row["n_samples"]),
             _pss(row), Traced("fct_prompt_stability", row).bounds("pss"))
            for row in between
        ]  # fmt: skip
        columns = ("Strategy", "Answers", "Models", "Samples", "PSS", "95 % interval")
        block.tables.append(
            Table(
                caption="PSS between models, original wording, first ask",
                columns=columns,
                rows=limited(lines)[0],
                n_heads=2,
                n_figures=4,
            )
        )


def _mark(row: Row) -> str:
    return " *" if row["is_degenerate"] else ""


def _explained(rows: Sequence[Row], note: str) -> str:
    starred = "* no variation at all, so that 1 says little." if any(row["is_degenerate"] for row in rows) else ""
    return " ".join(part for part in (starred, note) if part)
