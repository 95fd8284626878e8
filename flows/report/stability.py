"""The sections on PSS: by repetition, by wording, between models."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from flows.report import charts
from flows.report.blocks import Block, Budget, Group, Row, Section, Table, by_group, by_task, limited, tasks_of
from flows.report.gather import Gathered
from flows.report.sensitivity import why_no_answers, why_one_wording, why_open
from flows.report.text import count, interval, number, ranged

_BANDS = (("first", "labels (valid answers)"), ("second", "verbatim (every distinct completion)"))
_PSS = ("Model", "Strategy", "Answers", "Annotators", "Samples", "PSS", "95 % interval")


def repetition(found: Gathered, budget: Budget) -> Section:
    """PSS of the original wording over its identical asks."""
    section = Section(
        "repetition",
        "PSS by repetition",
        "Agreement of a model with itself over the first k identical asks of the original wording; 1 is perfect. "
        "Bands are 95 % intervals.",
    )
    rows_of = by_task([row for row in found.stabilities if row["scope"] == "intra" and row["series"] == "cumulative"])
    for task_id, rows in tasks_of(found.scorecard):
        block = Block(task_id, legend=_BANDS)
        section.blocks.append(block)
        if task_id not in rows_of:
            once = "No original wording was asked twice, so there are no repetitions to compare."
            block.absent.append(why_open(found, task_id) or why_no_answers(rows) or once)
            continue
        _draw_series(block, rows_of[task_id], budget, "asks of the same prompt")
        _last_of(block, rows_of[task_id], "PSS over all repetitions")
    return section


def paraphrase(found: Gathered, budget: Budget) -> Section:
    """PSS over wordings: by paraphrase temperature, or by their number where there is no temperature."""
    inter = [row for row in found.stabilities if row["scope"] == "inter"]
    is_warm = any(row["paraphrase_temperature"] is not None for row in inter)
    section = Section(
        "paraphrase",
        "PSS by paraphrase temperature" if is_warm else "PSS by number of wordings",
        "Agreement of a model with itself over rephrased prompts, original included: at each temperature of "
        "the rephraser, "
        "or over the first k wordings where it has none. Lines and bands are 95 % intervals.",
    )
    rows_of = by_task(inter)
    for task_id, rows in tasks_of(found.scorecard):
        block = Block(task_id)
        section.blocks.append(block)
        if task_id not in rows_of:
            block.absent.append(why_open(found, task_id) or why_one_wording(rows, "PSS over wordings"))
            continue
        both = rows_of[task_id]
        warm = [
            row for row in both
            if row["paraphrase_temperature"] is not None
            and (row["series"], row["annotation_filter"]) == ("all", "valid")
        ]  # fmt: skip
        cold = [row for row in both if row["paraphrase_temperature"] is None and row["series"] == "cumulative"]
        if warm:
            domain = charts.domain_of([row["pss_low"] if row["pss_low"] is not None else row["pss"] for row in warm])

            def panel(
                who: str, _group: Group, rows: list[Row], domain: tuple[float, float] = domain
            ) -> tuple[str, Markup]:
                points = [
                    {
                        "temperature": row["paraphrase_temperature"],
                        "pss": row["pss"],
                        "low": row["pss_low"],
                        "high": row["pss_high"],
                    }
                    for row in rows
                ]
                said = "; ".join(f"{row['paraphrase_temperature']:g}: {number(row['pss'])}" for row in rows[:12])
                return "", charts.temperatures(points, domain, f"{who}PSS at each paraphrase temperature: {said}.")

            budget.draw(block, by_group(warm), panel)
        if cold:
            block.legend = _BANDS
            _draw_series(block, cold, budget, "wordings")
        _by_wording(block, [row for row in both if row["series"] == "all"])
    _between_models(section, found)
    return section


def _draw_series(block: Block, rows: list[Row], budget: Budget, axis: str) -> None:
    domain = charts.domain_of([row["pss_low"] if row["pss_low"] is not None else row["pss"] for row in rows])

    def panel(who: str, _group: Group, rows: list[Row]) -> tuple[str, Markup]:
        points = [
            {"series": row["annotation_filter"], "k": row["n_annotators"], "pss": row["pss"], "low": row["pss_low"],
             "high": row["pss_high"]}
            for row in rows
        ]  # fmt: skip
        last = {row["annotation_filter"]: row for row in rows}
        said = ", ".join(f"{name} {ranged(row['pss'], row['pss_low'], row['pss_high'])}" for name, row in last.items())
        most = max(row["n_annotators"] for row in rows)
        return "", charts.lines(
            points, domain, axis, f"{who}PSS over the first 2 to {most} {axis}; over all of them: {said}."
        )

    budget.draw(block, by_group(rows), panel)


def _last_of(block: Block, rows: list[Row], caption: str) -> None:
    last = {(row["model_id"], row["strategy"], row["annotation_filter"]): row for row in rows}
    lines = [
        (model, strategy, answers, count(row["n_annotators"]), count(row["n_samples"]), number(row["pss"]) + _mark(row),
         interval(row["pss_low"], row["pss_high"]))
        for (model, strategy, answers), row in last.items()
    ]  # fmt: skip
    kept, note = limited(lines)
    block.tables.append(Table(caption, _PSS, kept, 3, 4, note=_explained(rows, note)))


def _by_wording(block: Block, rows: list[Row]) -> None:
    lines = [
        (row["model_id"], row["strategy"], row["annotation_filter"],
         "none" if row["paraphrase_temperature"] is None else f"{row['paraphrase_temperature']:g}",
         count(row["n_annotators"]),
         count(row["n_distinct_wordings"]), count(row["n_samples"]), number(row["pss"]) + _mark(row),
         interval(row["pss_low"], row["pss_high"]), interval(row["pss_wordings_low"], row["pss_wordings_high"]))
        for row in rows
    ]  # fmt: skip
    kept, note = limited(lines)
    columns = ("Model", "Strategy", "Answers", "Temperature", "Variants", "Distinct wordings", "Samples", "PSS",
               "95 % interval, these wordings", "for other wordings too")  # fmt: skip
    block.tables.append(Table("PSS over wordings", columns, kept, 3, 7, note=_explained(rows, note)))


def _between_models(section: Section, found: Gathered) -> None:
    rows = [row for row in found.stabilities if row["scope"] == "inter_model" and row["series"] == "all"]
    for task_id, between in by_task(rows).items():
        block = next((block for block in section.blocks if block.task_id == task_id), None)
        if block is None:
            continue
        lines = [
            (row["strategy"], row["annotation_filter"], count(row["n_annotators"]), count(row["n_samples"]),
             number(row["pss"]) + _mark(row), interval(row["pss_low"], row["pss_high"]))
            for row in between
        ]  # fmt: skip
        columns = ("Strategy", "Answers", "Models", "Samples", "PSS", "95 % interval")
        block.tables.append(Table("PSS between models, original wording, first ask", columns, limited(lines)[0], 2, 4))


def _mark(row: Row) -> str:
    return " *" if row["is_degenerate"] else ""


def _explained(rows: Sequence[Row], note: str) -> str:
    starred = "* no variation at all, so that 1 says little." if any(row["is_degenerate"] for row in rows) else ""
    return " ".join(part for part in (starred, note) if part)
