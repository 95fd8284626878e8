"""Builds the sections on wordings: accuracy under each, which to ship, all prompts with scores, kinds of variation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from promptaudit.query.choice.choose import Wording
from promptaudit.report.blocks.blocks import by, by_columns, by_pair, keyed
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import LABELS, ReportData, is_rule
from promptaudit.report.sections.columns import (
    MODEL,
    N_SAMPLES,
    STRATEGY,
    Column,
    beside,
    bounds,
    counted,
    figure,
    n_tasks,
    variant_number,
    wording,
    words,
)
from promptaudit.report.sections.section import Drawn, Section, Task, point
from promptaudit.report.sections.words import NO_GOLD, known_rows, whose, with_ends
from promptaudit.system.display.figures import NAME, count, cut, number, signed
from promptaudit.warehouse import Row

# accuracy under each variant

MOST_VARIANTS = 200  # a panel
_SCORED = ("model_id", "task_id", "strategy", "scoring_method")
_SCORES, _SPREADS = "fct_variant_accuracy", "rpt_accuracy_spreads"
_ACCURACY = (
    *(MODEL, STRATEGY, words("Scored by", "scoring_method")),
    beside(_SPREADS, counted("Variants", "n_variants"), lambda row: count(row["n"])),
    *(beside(_SPREADS, figure("Original", "accuracy_original")), words("Least", "least")),
    *(beside(_SPREADS, figure("Mean", "accuracy_mean")), words("Most", "most")),
    beside(_SPREADS, figure("Standard deviation", "accuracy_std")),
    *(words("Least accurate wording", "least_wording"), words("Most accurate wording", "most_wording")),
)
_RECTIFIED = (
    *(MODEL, STRATEGY, words("Judge", "scoring_method"), words("Wording", "worded")),
    *(figure("Judged accuracy", "accuracy"), figure("Rectified accuracy", "accuracy_rectified")),
    *(bounds("accuracy_rectified"), counted("Ruled by people", "n_ruled")),
)


def _fill_accuracy(task: Task) -> None:
    spreads = keyed(task.of("accuracy_spreads"), "scoring_method", "model_id", "strategy")
    variants = task.data.by_variant
    originals = {prompt_variant_id for prompt_variant_id, row in variants.items() if row["is_original"]}
    methods = by(task.rows, "scoring_method")
    draw = partial(_dots, domain=panels.domain_of([row["accuracy"] for row in task.rows], least=0), originals=originals)
    lines = []
    for method, of_method in methods.items():
        task.draw_pairs(draw, of_method, n_sharing=len(methods))
        for pair, rows in by_pair(of_method).items():
            ends = {"least": rows[0], "most": rows[-1]}
            figures = {end: Traced(_SCORES, row).number("accuracy") for end, row in ends.items()}
            worded = {f"{end}_wording": _worded(variants, row) for end, row in ends.items()}
            lines.append({**rows[0], "n": len(rows), _SPREADS: spreads.get((method, *pair)), **figures, **worded})
    task.table("Accuracy over variants", _ACCURACY, lines, n_heads=3)
    rectified = [row | {"worded": _worded(variants, row)} for row in task.rows if row["accuracy_rectified"] is not None]
    caption = "Accuracy that people would give, by variant"
    task.table(caption, _RECTIFIED, rectified, _SCORES, n_heads=3, most=task.n_rows)


def _worded(variants: dict[str, Row], row: Row) -> str:
    variant = variants.get(row["prompt_variant_id"])
    return f"{variant_number(variant)}: {wording(variant)}"


def _dots(rows: list[Row], who: str, *, domain: panels.Domain, originals: set[str]) -> Drawn:
    method, step = cut(rows[0]["scoring_method"], 60), max(1, -(-len(rows) // MOST_VARIANTS))
    dots = [
        {"place": place, "accuracy": row["accuracy"], "is_original": row["prompt_variant_id"] in originals}
        for place, row in enumerate(rows, start=1)
    ]
    shown = [dot for place, dot in enumerate(dots) if place % step == 0 or dot["is_original"]]
    spread = f"{number(rows[0]['accuracy'])} to {number(rows[-1]['accuracy'])}"
    label = f"{who}: accuracy of {len(rows)} prompt variants by {method}, from {spread}."
    return f"{method}: {spread}", panels.dots(shown, domain, label)


def _widest(data: ReportData) -> str:
    groups = by_columns(known_rows(data, data["accuracy_by_variant"], "accuracy"), *_SCORED)
    ranges = {group: [row["accuracy"] for row in rows] for group, rows in groups.items() if len(rows) > 1}
    if not ranges:
        return ""
    group = max(ranges, key=lambda each: max(ranges[each]) - min(ranges[each]))
    ends = f"{number(min(ranges[group]))} to {number(max(ranges[group]))}"
    return f"Accuracy is {ends} depending on the {data.word}, for {whose(groups[group][0])}"


accuracy_by_variant = Section(
    name="accuracy_by_variant",
    title="Accuracy by variant",
    intro="Each dot is one wording, from least to most accurate; a diamond is the original.",
    queries=("accuracy_by_variant", "accuracy_spreads"),
    absent=NO_GOLD,
    fill=_fill_accuracy,
    finding=_widest,
)

# which wording to ship: what speaks for each, and what the best gains over the original

SHORT = 60  # characters of a wording
TOO_FEW = "There are fewer than 20 samples, or no wording beside the original."
_CHOICES = (
    *(MODEL, STRATEGY, words("Right by", "scoring_method"), words("Wording", "worded")),
    *(figure("Accuracy", "accuracy"), bounds("accuracy", "95 % interval of all at once")),
    *(figure("Chance to be best", "chance_best"), figure("Expected loss", "expected_loss")),
    *(figure("In its worst variation", "accuracy_worst_variation"), figure("Agrees with itself", "agreement")),
    *(figure("Prompt tokens", "mean_prompt_tokens"), figure("Gain over the original", "gain")),
    bounds("gain", "95 % interval of the gain"),
)


def _fill_choices(task: Task) -> None:
    variants = task.data.by_variant
    rows = [{**row, "worded": _chosen(row, variants.get(row["prompt_variant_id"]))} for row in task.rows]
    caption = "What speaks for each wording"
    task.table(caption, _CHOICES, rows, "rpt_wording_choices", n_heads=4, most=task.n_rows)


def _chosen(row: Row, variant: Row | None) -> str:
    number = "original" if row["is_original"] else variant_number(variant)
    return f"{number}: {wording(variant, SHORT)}"


def _better(data: ReportData) -> str:
    chosen = [row for row in data["wording_choices"] if row["is_chosen"]]
    better = [row for row in chosen if row["is_better"]]
    if not better:
        most = signed(max((row["gain_high"] for row in chosen), default=None))
        return f"No wording is better than the original beyond chance; up to {most} is possible" if chosen else ""
    row = max(better, key=lambda each: each["gain_low"])
    variant = next(each for each in data.variants if each["prompt_variant_id"] == row["prompt_variant_id"])
    of_variant = ("variant_index", "paraphrase_temperature", "variation", "instruction")
    return f"For {whose(row)} {Wording(**row, **{name: variant[name] for name in of_variant}).better_in_words}"


wording_choices = Section(
    name="wording_choices",
    title="Which wording to ship",
    intro="For each wording, the table has how often it is right, the chance that it is the best of all, and what is "
    "lost if it is not. The chosen one also has its gain over the original, on samples that took no part in "
    "the choice.",
    queries=("wording_choices", "accuracy_by_variant"),
    absent=lambda task: TOO_FEW if task.of("accuracy_by_variant") else NO_GOLD,
    fill=_fill_choices,
    finding=_better,
)

# every wording with its scores, worst first

MOST_MODELS = 6  # tables a task
WORST = 6
MOST_BREAKING = 6
_ANSWERS = "rpt_prompt_variants"


def _variant(variant: Row | None) -> str:
    return variant_number(variant) + (", original" if variant is not None and variant["is_original"] else "")


_PROMPTS = (
    *(STRATEGY, Column("Variant", lambda of: _variant(of.row["variant"])), words("Instruction", "wording")),
    *(beside(_SCORES, figure(*own)) for own in (("Accuracy", "accuracy"), ("On other samples", "accuracy_shrunk"))),
    beside(_SCORES, counted("Answers scored", "n_scored")),
    beside(_ANSWERS, figure("Invalid rate", "invalid_rate", Traced.percent)),
    beside(_ANSWERS, figure("Differs from the others", "disagreement")),
    beside(_ANSWERS, Column("Breaks", lambda of: "breaks" if of.row["is_breaking"] else "")),
)
_MEANINGS = {True: "yes", False: "no", None: "not known"}
_MEANING = beside(_ANSWERS, Column("Asks the same", lambda of: _MEANINGS[of.row["asks_the_same"]]))
_OF_FEWER = (
    "Sensitivity of fewer wordings is lower by that alone; the corrected one is not. Wordings on which nobody ruled, or on which "
    "those who did are tied, are not among those that ask the same."
)
# tables on similar wordings, and without wordings that break: which groups have them, their columns, options
_OF_GROUPS: dict[str, tuple[Callable[[Row], Any], tuple[Column, ...], dict[str, Any]]] = {
    "Right under wordings like these": (
        lambda row: row["micro_f1_median"] is not None,
        (
            *(MODEL, STRATEGY, figure("Worst 5 % of wordings", "micro_f1_worst_5")),
            *(figure("Median", "micro_f1_median"), figure("Best 5 %", "micro_f1_best_5")),
        ),
        {},
    ),
    "Right under all of them alike, under any, and by majority": (
        lambda row: row["accuracy_under_all"] is not None,
        (
            *(MODEL, STRATEGY, figure("Under all", "accuracy_under_all"), bounds("accuracy_under_all")),
            *(figure("Under any", "accuracy_under_any"), bounds("accuracy_under_any")),
            *(figure("By majority", "accuracy_majority"), figure("Gain over the original", "majority_gain")),
            *(bounds("majority_gain"), figure("Unlike wordings", "n_wordings_effective")),
        ),
        {},
    ),
    "With and without prompts that break": (
        lambda row: row["n_variants_breaking"],
        (
            *(MODEL, STRATEGY, counted("Prompts that break", "n_variants_breaking"), figure("micro-F1", "micro_f1")),
            *(figure("without them", "micro_f1_unbroken"), bounds("micro_f1_unbroken")),
            *(figure("Sensitivity", "sensitivity"), figure("without them", "sensitivity_unbroken")),
            bounds("sensitivity_unbroken"),
        ),
        {"is_open": True},
    ),
    "With and without rewordings that ask something else": (
        lambda row: row["n_variants_same_meaning"],
        (
            *(MODEL, STRATEGY, counted("Prompts that ask the same", "n_variants_same_meaning")),
            *(counted("of", "n_variants"), figure("Sensitivity", "sensitivity")),
            *(figure("of these alone", "sensitivity_same_meaning"), bounds("sensitivity_same_meaning")),
            figure("Corrected sensitivity", "sensitivity_corrected"),
            figure("of these alone", "sensitivity_same_meaning_corrected"),
            *(figure("PSS inter", "pss_inter"), figure("of these alone", "pss_inter_same_meaning")),
            bounds("pss_inter_same_meaning"),
        ),
        {"is_open": True, "note": _OF_FEWER},
    ),
}
MUCH = 0.1  # of accuracy


def _fill_prompts(task: Task) -> None:
    kinds, models, block = task.data.reference_models, by(task.rows, "model_id"), task.block
    shown = [model for model in models if kinds.get(model) != "random"] or list(models)
    if len(shown) < len(models):
        block.notes.append("A model that answers by chance reads no prompt, so its wordings are left out.")
    columns = (*_PROMPTS, _MEANING) if any(row["n_variants_same_meaning"] for row in task.scored) else _PROMPTS
    for place, model in enumerate(shown[:MOST_MODELS]):
        rows = sorted(models[model], key=_rank)
        if place == 0:
            task.table(f"The worst prompts under {cut(model, 60)}", columns, rows[:WORST], is_open=True)
        if len(rows) > WORST or place:
            task.table(f"All prompts under {cut(model, 60)}", columns, rows, most=task.n_rows)
    of_shown = [row for model in shown for row in models[model]]
    block.findings += [_breaking(row) for row in of_shown if _breaks(row)][:MOST_BREAKING]
    block.findings += _asking_otherwise(of_shown)[:MOST_BREAKING]
    for caption, (has_figures, of_group, options) in _OF_GROUPS.items():
        task.table(caption, of_group, [row for row in task.scored if has_figures(row)], "rpt_audit", **options)
    if len(shown) > MOST_MODELS:
        block.notes.append(f"The prompts under the first {MOST_MODELS} of {len(shown)} models.")


def _breaks(row: Row) -> bool:
    return bool(row[_ANSWERS] is not None and row[_ANSWERS]["is_breaking"])


def _breaking(row: Row) -> tuple[str, str]:
    rates = " against ".join(number(row[_ANSWERS][name]) for name in ("working_rate", "working_rate_of_others"))
    return f"Wording {_variant(row['variant'])} breaks: {rates}", f"{row['model_id']}, {row['strategy']}"


def _asking_otherwise(rows: Sequence[Row]) -> list[tuple[str, str]]:
    # each wording once, even if several models are asked it
    others = {
        row["prompt_variant_id"]: row
        for row in reversed(rows)
        if row[_ANSWERS] is not None and row[_ANSWERS]["asks_the_same"] is False
    }
    does_not = "does not ask the same as the original"
    return [
        (f"Wording {_variant(row['variant'])} {does_not}", row[_ANSWERS]["meaning_reason"] or row["wording"])
        for row in reversed(others.values())
    ]


def _asked(data: ReportData) -> list[Row]:
    scores = keyed(_accuracies(data), "model_id", "prompt_variant_id")
    answers = keyed(data["prompt_variants"], "model_id", "prompt_variant_id")
    variants = data.by_variant
    lines = []
    for row in data.formats:
        if row["n_landed"] > row["n_error"]:
            key, variant = (row["model_id"], row["prompt_variant_id"]), variants.get(row["prompt_variant_id"])
            of_marts = {_SCORES: scores.get(key), _ANSWERS: answers.get(key)}
            lines.append({**row, "variant": variant, "wording": wording(variant, data.texts.long), **of_marts})
    return lines


def _accuracies(data: ReportData) -> list[Row]:
    # one method per task: labels if they are matched, else the first rule, else the first judge
    out = []
    for rows in by(data["accuracy_by_variant"], "task_id").values():
        of_method = by(rows, "scoring_method")
        out += of_method[min(of_method, key=lambda name: (name != LABELS, not is_rule(name), name))]
    return out


def _rank(row: Row) -> tuple[object, ...]:
    accuracy = None if row[_SCORES] is None else row[_SCORES]["accuracy"]
    disagreement = 0.0 if row[_ANSWERS] is None else round(row[_ANSWERS]["disagreement"] or 0.0, 9)
    return accuracy is None, accuracy or 0.0, -disagreement, row["model_id"], row["prompt_variant_id"]


def _costly(data: ReportData) -> str:
    originals = {row["prompt_variant_id"] for row in data.variants if row["is_original"]}
    costly: list[tuple[int, list[Row]]] = []
    for rows in by_columns(known_rows(data, data["accuracy_by_variant"], "accuracy"), *_SCORED).values():
        base = next((row["accuracy"] for row in rows if row["prompt_variant_id"] in originals), None)
        if base is not None and len(rows) > 1:
            costly.append((sum(row["accuracy"] < base - MUCH for row in rows), rows))
    if not costly:
        return ""
    n, rows = max(costly, key=lambda each: each[0])
    if not n:
        return f"No {data.word} costs more than {MUCH:g} of the original's accuracy"
    cost = "costs" if n == 1 else "cost"
    which = f"{n} of {len(rows)} {data.word}s"
    return f"{which} {cost} {whose(rows[0])} more than {MUCH:g} of the original's accuracy"


prompt_variants = Section(
    name="prompt_variants",
    title="Prompts, worst first",
    intro="Each wording stands with what it scored. The least accurate comes first; without gold labels, the first "
    "is the one whose answers differ most from the other wordings' (1 minus the chance that two wordings give "
    "a sample the same label). On other samples a wording scores nearer to the mean of all, by as much as "
    "chance moved it here.",
    queries=("accuracy_by_variant", "prompt_variants"),
    rows=_asked,
    absent="No answer to any wording has landed.",
    fill=_fill_prompts,
    finding=_costly,
)

# kinds of variation: which of them moves answers, beyond what repeating a prompt gives, and which most

EFFECTS = "fct_variations"
TITLE = "What moves the answers"
LARGEST = "moves_most"

SAYS = {
    LARGEST: "moves answers most",
    "moves": "moves answers",
    "not_told": "not told from repeating",
    "not_measured": "not measured",
}
KEPT = (
    "Repetitions hardly ever differ, as where a provider keeps its answers. So the noise is the disagreement "
    "of the kind that has the least, and an effect is what another kind has beyond that."
)
NO_NOISE = "Without two asks of a variant it is not known what repeating a prompt gives, so no kind has an effect."


def kind(row: Row) -> str:
    """Writes a kind of variation in words."""
    return str(row["variation"]).replace("_", " ")


_KINDS = (
    *(MODEL, STRATEGY, Column("Kind", lambda of: kind(of.row)), Column("Verdict", lambda of: SAYS[of.row["verdict"]])),
    *(counted("Variants", "n_variants"), N_SAMPLES, figure("Disagreement", "disagreement")),
    *(figure("of repeating", "noise"), figure("Effect", "effect", Traced.measure), bounds("effect")),
    *(figure("Share of effects", "effect_share", Traced.share), figure("Sensitivity", "sensitivity")),
    *(bounds("sensitivity"), figure("Consistency", "consistency")),
    *(figure("PSS inter", "pss_inter", Traced.measure), bounds("pss_inter")),
)


def _fill_kinds(task: Task) -> None:
    own = task.rows
    task.block.findings = [(_said(pair), f"{model}, {strategy}") for (model, strategy), pair in by_pair(own).items()]
    measured = [row for row in own if row["effect"] is not None]
    if measured:
        shown = task.strategies(measured)
        drawn = [row for row in measured if row["strategy"] in shown]
        task.draw_models("effect", partial(_ranges, series=shown, domain=_domain(measured)), drawn)
    else:
        task.block.absent.append(NO_NOISE)
    if any(row.get("noise_from") == "variants" for row in own):
        task.block.absent.append(KEPT)
    columns = (*_KINDS, figure("POSIX", "posix")) if any(row["posix"] is not None for row in own) else _KINDS
    task.table("Measures by kind of variation", columns, own, EFFECTS, n_heads=3, most=task.n_rows)


def finding(rows: Sequence[Row]) -> str:
    """Says which kind moves the answers of which model most, by the largest effect."""
    largest = [row for row in rows if row["verdict"] == LARGEST]
    if largest:
        first = max(largest, key=lambda row: row["effect"])
        on = f" on {cut(first['task_id'], NAME)}" if n_tasks(rows) > 1 else ""
        rest = f"; {len(largest) - 1} more below" if len(largest) > 1 else ""
        of_whom = f"{cut(first['model_id'], NAME)}{on}"
        said = f"{kind(first)} moves answers of {of_whom} most, {with_ends(first, 'effect')} beyond repeating{rest}"
    else:
        none = "no kind of variation is told from repeating", "not measured without repetitions"
        said = _moving(rows, *none)
    return said[:1].upper() + said[1:]


def _moving(rows: Sequence[Row], none: str, unmeasured: str) -> str:
    # for groups in which no kind moves answers most
    kinds = list(dict.fromkeys(kind(row) for row in rows if row["verdict"] == "moves"))
    if not kinds:
        return none if any(row["effect"] is not None for row in rows) else unmeasured
    *most, last = kinds
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{listed} {'move' if most else 'moves'} answers, none told from all others"


def _said(rows: Sequence[Row]) -> str:
    largest = next((row for row in rows if row["verdict"] == LARGEST), None)
    if largest is None:
        return _moving(rows, "no kind told from repeating", "not measured")
    return f"{kind(largest)} moves answers most, {with_ends(largest, 'effect')}"


def _ranges(rows: list[Row], who: str, *, series: Sequence[str], domain: panels.Domain) -> Drawn:
    points = [point(EFFECTS, row, "effect", name=kind(row), series=row["strategy"]) for row in rows]
    strongest = max(rows, key=lambda row: row["effect"])
    most = f"{kind(strongest)} {number(strongest['effect'])}"
    label = f"{who}: effect of each kind of variation beyond repeating; {most}."
    return "", panels.ranges(points, series, domain, "beyond repeating", label, "strategy", 0.0, "kind")


def _domain(rows: Sequence[Row]) -> panels.Domain:
    # tenths around all intervals and 0
    ends = [row[name] for row in rows for name in ("effect", "effect_low", "effect_high") if row[name] is not None]
    return min(0.0, math.floor(min(ends) * 10) / 10), max(0.1, math.ceil(max(ends) * 10) / 10)


variations = Section(
    name="variations",
    title=TITLE,
    intro="An effect is how often two prompts that differ in one kind alone get different answers, minus how often "
    "two asks of one prompt do; it is 0 where the kind moves nothing. Lines are 95 % intervals for other "
    "samples and other variants of the kind. A kind is named where its effect differs from zero and from that "
    "of every other kind.",
    fill=_fill_kinds,
    finding=lambda data: finding(data["variations"]),
)
