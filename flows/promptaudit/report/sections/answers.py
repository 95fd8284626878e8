"""Builds the sections on the answers: distinct, invalid and missing ones, fields of extraction, and their costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from promptaudit.registry.cards import ALL_FIELDS
from promptaudit.registry.mart_columns import MartColumn, mart_columns
from promptaudit.report.blocks.blocks import DrawnSection, by_pair, keyed
from promptaudit.report.blocks.cells import Cell, Traced
from promptaudit.report.charts import panels
from promptaudit.report.charts.panels import Axes, curves
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import (
    MODEL,
    N_SAMPLES,
    STRATEGY,
    Column,
    beside,
    bounds,
    counted,
    figure,
    table,
    tally,
    variant_number,
    wording,
    words,
)
from promptaudit.report.sections.section import Chart, Drawn, Room, Section, Task, point
from promptaudit.report.sections.words import known_rows, of_extreme, whose, with_ends
from promptaudit.system.display.figures import NAME, count, cut, milliseconds, number, percent, usd
from promptaudit.warehouse import Row

# distinct answers, by repetition and by paraphrase temperature

DISTINCT = "rpt_distinct_answers"
_MEANS = tuple(
    figure(heading, column, lambda of, name: of.cell(name, mean(of.row[name])))
    for heading, column in (("Distinct completions", "distinct_completions_mean"), ("Answers", "answers_mean"))
)
_ASKS = (MODEL, STRATEGY, Column("Repetition", lambda of: f"{of.row['repetition']}", is_figure=True), *_MEANS)
_TEMPERATURE = Column("Temperature", lambda of: f"{of.row['paraphrase_temperature']:g}", is_figure=True)
_WARM = (MODEL, STRATEGY, _TEMPERATURE, counted("Variants", "n_variants"), *_MEANS)


def _fill_distinct(task: Task) -> None:
    asks, warm = ([row for row in task.rows if (row["repetition"] is None) == is_warm] for is_warm in (False, True))
    shown = task.strategies([*asks, *warm])
    charts = []
    for own, over in ((asks, "repetition"), (warm, "paraphrase_temperature")):
        if own is warm or len({row["repetition"] for row in asks}) > 1:
            drawn = [row for row in own if row["strategy"] in shown]
            largest = max((row["distinct_completions_mean"] for row in own), default=0.0)
            draw = partial(_curves, shown=shown, over=over, largest=largest)
            charts += task.models(drawn, f"by {over.replace('_', ' ')}", draw)
    task.draw(charts)
    caption = "Distinct completions of the original wording, by repetition"
    task.table(caption, _ASKS, asks, DISTINCT, most=task.n_rows)
    note = "Mean over the rephrased variants of a temperature and their asks."
    task.table("Distinct completions by paraphrase temperature", _WARM, warm, DISTINCT, note=note, most=task.n_rows)


def mean(value: float) -> str:
    """Prints a mean of counts, without decimals if it is whole, else with one."""
    return number(value, 0 if value == int(value) else 1)


def _curves(rows: list[Row], who: str, *, shown: list[str], over: str, largest: float) -> Drawn:
    points = [
        point(DISTINCT, row, "distinct_completions_mean", at=row[over], series=row["strategy"], n=row["answers_mean"])
        for row in rows
    ]
    title = over.replace("_", " ")
    ends = dict.fromkeys(mean(end(row["value"] for row in points)) for end in (min, max))
    span = " to ".join(ends)
    label = f"{who}: distinct completions by {title}, {span} of {mean(max(row['n'] for row in points))} answers."
    return span, curves(points, shown, Axes(x=title, y="distinct completions", most=largest, n="answers"), label)


@of_extreme(lambda data: data["distinct_answers"], "distinct_completions_mean")
def _most_distinct(most: Row, _: ReportData) -> str:
    n = number(most["distinct_completions_mean"], 0)
    return f"One ask of all samples brings up to {n} different completions, for {whose(most)}"


distinct_answers = Section(
    name="distinct_answers",
    title="Distinct answers",
    intro="This is how many different completions one ask of all samples brings back, taken verbatim. A task of six "
    "labels needs six; the others are answers in other words, or answers that are no label.",
    absent="No original wording was asked.",
    fill=_fill_distinct,
    finding=_most_distinct,
)

# invalid answers: what became of the answers, per model and per variant

MOST_VARIANTS = 200  # a panel
WORST = 10
_LANDED, _TOTALS, _VARIANTS = "rpt_audit", "rpt_answer_totals", "rpt_prompt_variants"


def _sum(rows: Sequence[Row], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _n_invalid(rows: Sequence[Row]) -> int:
    return _sum(rows, "n_landed") - _sum(rows, "n_error") - _sum(rows, "n_valid")


def _invalid_rate(rows: Sequence[Row]) -> float | None:
    n_answered = _sum(rows, "n_landed") - _sum(rows, "n_error")
    return _n_invalid(rows) / n_answered if n_answered else None


def _summed(mart: str, heading: str, name: str) -> Column:
    # without a row of the mart: the sum over the group's formats
    return beside(mart, counted(heading, name), lambda row: count(_sum(row["formats"], name)))


# without a row of the mart nothing landed
_BECAME = (
    *(MODEL, STRATEGY, _summed(_LANDED, "Planned", "n_planned"), _summed(_LANDED, "Landed", "n_landed")),
    *(_summed(_TOTALS, status.capitalize(), f"n_{status}") for status in ("valid", *panels.STATUSES, "error")),
    Column("Missing", lambda of: count(_sum(of.row["formats"], "n_missing")), is_figure=True),
    beside(_LANDED, figure("Invalid rate", "invalid_rate", Traced.percent)),
    beside(_LANDED, bounds("invalid_rate", "95 % interval"), lambda _: ""),
)
_RATE = figure("Invalid rate", "invalid_rate", Traced.percent)
_WORST = (
    *(MODEL, STRATEGY, Column("Variant", lambda of: variant_number(of.row["variant"]))),
    Column("Instruction", lambda of: wording(of.row["variant"])),
    beside(_VARIANTS, counted("Invalid", "n_invalid"), lambda row: count(_n_invalid([row]))),
    beside(_VARIANTS, _RATE, lambda row: percent(_invalid_rate([row]))),
)


def _fill_formats(task: Task) -> None:
    variants = task.data.by_variant
    task.block.legend = tuple((paint, status) for status, paint in panels.STATUSES.items())
    groups = by_pair(task.rows)
    bad = [row for rows in groups.values() if _invalid_rate(rows) for row in rows]
    if bad:
        places = {prompt_variant_id: place for place, prompt_variant_id in enumerate(variants)}
        most = max(_invalid_rate([row]) or 0 for row in bad)
        task.draw_pairs(partial(_stacks, places=places, most=most), bad)
    else:
        task.block.absent.append(f"Every answer was {'read' if task.is_open() else 'read as a label'}.")
    of_marts = {_LANDED: task.scored, _TOTALS: task.of("answer_totals")}
    rows_of = {mart: keyed(rows, "model_id", "strategy") for mart, rows in of_marts.items()}
    lines = [
        {**rows[0], "formats": rows, **{mart: own.get(pair) for mart, own in rows_of.items()}}
        for pair, rows in groups.items()
    ]
    task.table("What became of the answers", _BECAME, lines, is_open=True)
    of_variants = keyed(task.of("prompt_variants"), "model_id", "prompt_variant_id")
    worst = sorted(bad, key=lambda row: _invalid_rate([row]) or 0, reverse=True)[:WORST]
    lines = []
    for row in worst:
        variant = row["prompt_variant_id"]
        own = of_variants.get((row["model_id"], variant))
        lines.append({**row, "variant": variants.get(variant), _VARIANTS: own})
    task.table("Variants with the most invalid answers", _WORST, lines, n_heads=3)


def _stacks(rows: list[Row], who: str, *, places: dict[str, int], most: float) -> Drawn:
    ordered = sorted(rows, key=lambda row: places.get(row["prompt_variant_id"], 0))[:MOST_VARIANTS]
    bars = [
        {"place": place, "status": status, "rate": row[f"n_{status}"] / (row["n_landed"] - row["n_error"])}
        for place, row in enumerate(ordered)
        for status in panels.STATUSES
        if row[f"n_{status}"]
    ]
    rate = percent(_invalid_rate(rows))
    some = "" if len(rows) <= MOST_VARIANTS else f", the first {MOST_VARIANTS} of {len(rows)} variants"
    label = f"{who}: invalid answers by prompt variant; {rate} in all."
    return f"{rate} invalid{some}", panels.stacks(bars, len(ordered), label, most)


@of_extreme(lambda data: data.scorecard, "invalid_rate")
def _most_invalid(worst: Row, _: ReportData) -> str:
    if not worst["invalid_rate"]:
        return "Every answer could be read"
    return f"Up to {percent(worst['invalid_rate'])} of the answers could not be read, for {whose(worst)}"


answer_formats = Section(
    name="answer_formats",
    title="Invalid answers",
    intro="Share of answers that could not be read as a label: blank, cut off, refused, or unreadable.",
    queries=("answer_totals", "prompt_variants"),
    rows=lambda data: data.formats,
    absent="No answer was planned.",
    fill=_fill_formats,
    finding=_most_invalid,
)

# fields of extraction: how often each is right, and how much its value depends on the wording

_FIELDS = (
    *(MODEL, STRATEGY, words("Field", "field"), N_SAMPLES, counted("Wordings", "n_variants")),
    *(figure("Accuracy", "accuracy"), bounds("accuracy"), figure("Sensitivity", "sensitivity"), bounds("sensitivity")),
    *(figure("PSS, inter", "pss_inter"), bounds("pss_inter"), figure("PSS, intra", "pss_intra"), bounds("pss_intra")),
    figure("Unread", "unread_rate", Traced.percent),
)


@of_extreme(lambda data: [row for row in data["fields"] if row["field"] != ALL_FIELDS], "sensitivity")
def _field_that_changes(most: Row, _: ReportData) -> str:
    field = whose(most, "field", "model_id", "task_id", "strategy")
    return f"The field that changes most with the wording is {field}: {with_ends(most, 'sensitivity')}"


fields = Section(
    name="fields",
    title="Fields",
    intro="What stands in each field of an answer's JSON object, read by the field's rule. Accuracy is the share of right values "
    "under one wording, as the mean over wordings. Sensitivity is 0 where all wordings give one value, and 1 where each "
    "gives another. PSS is Krippendorff's alpha of the values over wordings, and over repetitions. all_fields is what "
    "stands in all of them together.",
    fill=lambda task: task.table(
        "Fields", _FIELDS, task.rows, "fct_field_stability", n_heads=3, is_open=True, most=task.n_rows
    ),
    finding=_field_that_changes,
)

# missing answers: what the scorecard's measures would be, were they all N/A or all the commonest label

BOUNDED = ("sensitivity", "consistency", "micro_f1", "invalid_rate")
AS_NA, AS_MODAL = "if_missing_na", "if_missing_modal"


def lacking(scorecard: Iterable[Row]) -> list[Row]:
    """Keeps the rows of rpt_audit that have bounds: groups with asks that nobody answered."""
    return [row for row in scorecard if row[f"invalid_rate_{AS_NA}"] is not None]


def n_unanswered(row: Row) -> int:
    """Counts the asks of a row of rpt_audit without an answer: not landed, or ended in an error."""
    return int(row["n_planned"] - row["n_landed"] + row["n_error"])


def bounded(row: Row) -> Iterator[MartColumn]:
    """Yields the measures of a row of rpt_audit that have bounds, in the scorecard's order."""
    columns = mart_columns(_LANDED)
    return (columns[name] for name in BOUNDED if row[f"{name}_{AS_NA}"] is not None)


_MISSING = (
    *(MODEL, STRATEGY, words("Measure", "label")),
    Column("Unanswered asks", lambda of: of.row["n_unanswered"], is_figure=True),
    Column("Without them", lambda of: of.measure(of.row["measure"]), is_figure=True),
    Column("All N/A", lambda of: of.measure(f"{of.row['measure']}_{AS_NA}"), is_figure=True),
    Column("All the commonest label", lambda of: of.measure(f"{of.row['measure']}_{AS_MODAL}"), is_figure=True),
)


def _fill_missing(task: Task) -> None:
    lines = [
        {**row, "measure": column.name, "label": column.label, "n_unanswered": f"{n_unanswered(row):,}"}
        for row in task.rows
        for column in bounded(row)
    ]
    task.table("Measures and their bounds", _MISSING, lines, _LANDED, n_heads=3, is_open=True)


def _unanswered(data: ReportData) -> str:
    n = sum(map(n_unanswered, lacking(data.scorecard)))
    return f"{count(n)} of {count(sum(row['n_planned'] or 0 for row in data.scorecard))} asks have no answer"


missing_answers = Section(
    name="missing_answers",
    title="Missing answers",
    intro="Asks that ended in an error or never landed count in no measure. Beside each figure stands what it would "
    "be if all of them were N/A, and if all of them were the label that the sample got most often.",
    rows=lambda data: lacking(data.scorecard),
    fill=_fill_missing,
    finding=_unanswered,
)

# costs: tokens, money, time and tries


def _is_partly_priced(row: Row) -> bool:
    return bool(0 < row["n_priced"] < row["n_answers"])


def _cost(of: Traced, name: str) -> Cell:
    return of.cell(name, usd(of.row[name]) + (" *" if _is_partly_priced(of.row) else ""))


_TOOK = (
    *(MODEL, STRATEGY, counted("Answers", "n_answers"), counted("Prompt tokens", "prompt_tokens")),
    *(counted("Completion tokens", "completion_tokens"), figure("Cost", "cost_usd", _cost)),
    *(
        figure("Latency, median", "latency_p50_ms", Traced.milliseconds),
        figure("95 %", "latency_p95_ms", Traced.milliseconds),
    ),
    figure("Tries, mean", "attempts_mean", lambda of, name: of.number(name, 2)),
    *(counted("most", "attempts_max"), counted("Tried again", "n_retried"), counted("Errors", "n_error")),
)
_FAILED = (
    MODEL,
    Column("HTTP status", lambda of: "none" if of.row["http_status"] is None else str(of.row["http_status"])),
    *(tally("Failed tries", "n_failed"), tally("Requests", "n_requests")),
    Column("Waited before the next, s", lambda of: number(of.row["waited_s"], 1), is_figure=True),
)


def _fill_costs(task: Task) -> None:
    timed = [row for row in task.rows if row["n_timed"]]
    if timed:
        draw = partial(_latencies, timed, task.strategies(timed), task.name)
        task.draw([Chart("Latency", "by model", draw)])
    else:
        task.block.absent.append("No answer of this task has a latency.")
    is_partly_priced = any(map(_is_partly_priced, task.rows))
    note = "* This is the cost of only those answers whose price is known." if is_partly_priced else ""
    task.table("What answers took", _TOOK, task.rows, _TOTALS, note=note, most=task.n_rows)
    task.table("Tries that failed", _FAILED, task.of("attempts"), most=task.n_rows)


def _other_tries(section: DrawnSection, data: ReportData) -> None:
    if others := data.of_task("attempts", "other"):  # rephrasings and verdicts are asked too
        section.add().tables.append(table("Tries that failed", _FAILED, others, most=Room(data).n_rows))


def _latencies(rows: list[Row], shown: list[str], task: str) -> Drawn:
    drawn = [row for row in rows if row["strategy"] in shown]
    models = list(dict.fromkeys(row["model_id"] for row in drawn))[: panels.MOST_BARS]
    own = [row for row in drawn if row["model_id"] in models]
    points = [
        point(_TOTALS, row, "latency_p50_ms", name=row["model_id"], series=row["strategy"])
        | {"low": row["latency_p50_ms"], "high": row["latency_p95_ms"]}
        for row in own
    ]
    most = max(row["high"] for row in points)
    slowest = max(own, key=lambda row: row["latency_p50_ms"])
    largest = f"largest median {milliseconds(slowest['latency_p50_ms'])}, of {cut(slowest['model_id'], NAME)}"
    span = "by strategy in milliseconds, median to 95th percentile"
    label = f"{task}: latency of {len(models)} models {span}; {largest}."
    domain = (0.0, most * 1.05 or 1.0)
    return "median to 95th percentile", panels.ranges(points, shown, domain, "ms", label, of_what="strategy")


def _what_it_took(data: ReportData) -> str:
    totals = data["answer_totals"]
    known = [row["cost_usd"] for row in totals if row["cost_usd"] is not None]
    timed, took = known_rows(data, totals, "latency_p50_ms"), ""
    if timed:
        slowest = max(timed, key=lambda row: row["latency_p50_ms"])
        took = f", the slowest median answer took {slowest['latency_p50_ms']:,.0f} ms ({whose(slowest)})"
    n = count(sum(row["n_answers"] or 0 for row in totals))
    if not known:
        return f"{n} answers, whose price is not known{took}" if totals else ""
    return f"{n} answers cost {usd(sum(known))}{took}"


costs = Section(
    name="costs",
    title="Cost, tokens, latency and retries",
    intro="This is what the answers of this run cost in tokens, money and time. A dash is a figure that the engine "
    "does not give. A cost is tokens times the price during the run. Latency is the time from request to "
    "answer, for answers that came; lines go from its median to its 95th percentile.",
    queries=("answer_totals", "attempts"),
    absent="No answer has landed yet.",
    fill=_fill_costs,
    whole=_other_tries,
    finding=_what_it_took,
)
