"""The section on the prompts themselves: every wording with its scores, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.report.blocks.blocks import DrawnSection, Table, by, keyed
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.data import ReportData
from promptaudit.report.gather_judging import LABELS, is_rule
from promptaudit.report.sections.columns import (
    STRATEGY,
    Column,
    beside,
    bounds,
    counted,
    figure,
    table,
    variant_number,
    wording,
    words,
)
from promptaudit.report.sections.extremes import by_group, known_rows, whose
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import cut, number
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MOST_MODELS = 6  # tables a task
WORST = 6
MOST_BREAKING = 6
_SCORES, _ANSWERS = "fct_variant_accuracy", "rpt_prompt_variants"


def _variant(variant: Row | None) -> str:
    return variant_number(variant) + (", original" if variant is not None and variant["is_original"] else "")


_COLUMNS = (
    STRATEGY,
    Column("Variant", lambda of: _variant(of.row["variant"])),
    words("Instruction", "wording"),
    beside(_SCORES, figure("Accuracy", "accuracy")),
    beside(_SCORES, figure("On other samples", "accuracy_shrunk")),
    beside(_SCORES, counted("Answers scored", "n_scored")),
    beside(_ANSWERS, figure("Invalid rate", "invalid_rate", Traced.percent)),
    beside(_ANSWERS, figure("Differs from the others", "disagreement")),
    beside(_ANSWERS, Column("Breaks", lambda of: "breaks" if of.row["is_breaking"] else "")),
)
_MEANINGS = {True: "yes", False: "no", None: "not known"}
_MEANING = beside(_ANSWERS, Column("Asks the same", lambda of: _MEANINGS[of.row["asks_the_same"]]))


_QUANTILES = (
    words("Model", "model_id"),
    STRATEGY,
    figure("Worst 5 % of wordings", "micro_f1_worst_5"),
    figure("Median", "micro_f1_median"),
    figure("Best 5 %", "micro_f1_best_5"),
)

_UNDER_ALL = (
    words("Model", "model_id"),
    STRATEGY,
    figure("Under all", "accuracy_under_all"),
    bounds("accuracy_under_all"),
    figure("Under any", "accuracy_under_any"),
    bounds("accuracy_under_any"),
    figure("By majority", "accuracy_majority"),
    figure("Gain over the original", "majority_gain"),
    bounds("majority_gain"),
    figure("Unlike wordings", "n_wordings_effective"),
)

_UNBROKEN = (
    words("Model", "model_id"),
    STRATEGY,
    counted("Prompts that break", "n_variants_breaking"),
    figure("micro-F1", "micro_f1"),
    figure("without them", "micro_f1_unbroken"),
    bounds("micro_f1_unbroken"),
    figure("Sensitivity", "sensitivity"),
    figure("without them", "sensitivity_unbroken"),
    bounds("sensitivity_unbroken"),
)


_SAME_MEANING = (
    words("Model", "model_id"),
    STRATEGY,
    counted("Prompts that ask the same", "n_variants_same_meaning"),
    counted("of", "n_variants"),
    figure("Sensitivity", "sensitivity"),
    figure("of these alone", "sensitivity_same_meaning"),
    bounds("sensitivity_same_meaning"),
    figure("Corrected sensitivity", "sensitivity_corrected"),
    figure("of these alone", "sensitivity_same_meaning_corrected"),
    figure("PSS inter", "pss_inter"),
    figure("of these alone", "pss_inter_same_meaning"),
    bounds("pss_inter_same_meaning"),
)

_OF_FEWER = (
    "Sensitivity of fewer wordings is lower by that alone; the corrected one is not. Wordings on which nobody ruled, or on which "
    "those who did are tied, are not among those that ask the same."
)

MUCH = 0.1  # of accuracy


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(_asked(data), "task_id")
    kinds = {row["model_id"]: row["kind"] for row in data.references}
    for task_id, block, scored in section.of_tasks(data.scorecard):
        models = by(rows_of.get(task_id, []), "model_id")
        if not models:
            block.absent.append("No answer to any wording has landed.")
            continue
        shown = [model for model in models if kinds.get(model) != "random"] or list(models)
        if len(shown) < len(models):
            block.notes.append("A model that answers by chance reads no prompt, so its wordings are left out.")
        columns = (*_COLUMNS, _MEANING) if any(row["n_variants_same_meaning"] for row in scored) else _COLUMNS
        for place, model in enumerate(shown[:MOST_MODELS]):
            rows = sorted(models[model], key=_rank)
            if place == 0:
                caption = f"The worst prompts under {cut(model, 60)}"
                block.tables.append(table(caption, columns, rows[:WORST], is_open=True))
            if len(rows) > WORST or place:
                block.tables.append(table(f"All prompts under {cut(model, 60)}", columns, rows, most=room.n_rows))
        block.findings += [_breaking(row) for model in shown for row in models[model] if _breaks(row)][:MOST_BREAKING]
        block.findings += _asking_otherwise([row for model in shown for row in models[model]])[:MOST_BREAKING]
        block.tables += _of_groups(scored)
        if len(shown) > MOST_MODELS:
            block.notes.append(f"The prompts under the first {MOST_MODELS} of {len(shown)} models.")


def _of_groups(scored: Sequence[Row]) -> list[Table]:
    """Returns what wordings like these do, and the figures without those that break."""
    tables = []
    if known := [row for row in scored if row["micro_f1_median"] is not None]:
        tables.append(table("Right under wordings like these", _QUANTILES, known, "rpt_audit"))
    if told := [row for row in scored if row["accuracy_under_all"] is not None]:
        tables.append(table("Right under all of them alike, under any, and by majority", _UNDER_ALL, told, "rpt_audit"))
    if broken := [row for row in scored if row["n_variants_breaking"]]:
        tables.append(table("With and without prompts that break", _UNBROKEN, broken, "rpt_audit", is_open=True))
    if ruled := [row for row in scored if row["n_variants_same_meaning"]]:
        caption = "With and without rewordings that ask something else"
        tables.append(table(caption, _SAME_MEANING, ruled, "rpt_audit", is_open=True, note=_OF_FEWER))
    return tables


def _breaks(row: Row) -> bool:
    return bool(row[_ANSWERS] is not None and row[_ANSWERS]["is_breaking"])


def _breaking(row: Row) -> tuple[str, str]:
    """Which wording breaks, by how much, and of what."""
    rate, of_others = (number(row[_ANSWERS][name]) for name in ("working_rate", "working_rate_of_others"))
    return (
        f"Wording {_variant(row['variant'])} breaks: {rate} against {of_others}",
        f"{row['model_id']}, {row['strategy']}",
    )


def _asking_otherwise(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Which rewordings ask something else than the original, and why: each once, whichever models are asked it."""
    others = {
        row["prompt_variant_id"]: row
        for row in reversed(rows)
        if row[_ANSWERS] is not None and row[_ANSWERS]["asks_the_same"] is False
    }
    return [
        (
            f"Wording {_variant(row['variant'])} does not ask the same as the original",
            row[_ANSWERS]["meaning_reason"] or row["wording"],
        )
        for row in reversed(others.values())
    ]


def _asked(data: ReportData) -> list[Row]:
    """Returns the variants with answers of each model, with their wording and their rows of the marts."""
    scores = keyed(_accuracies(data), "model_id", "prompt_variant_id")
    answers = keyed(data["prompt_variants"], "model_id", "prompt_variant_id")
    variants = {row["prompt_variant_id"]: row for row in data.variants}
    lines = []
    for row in data.formats:
        if row["n_landed"] > row["n_error"]:
            key, variant = (row["model_id"], row["prompt_variant_id"]), variants.get(row["prompt_variant_id"])
            of_marts = {_SCORES: scores.get(key), _ANSWERS: answers.get(key)}
            lines.append({**row, "variant": variant, "wording": wording(variant, data.texts.long), **of_marts})
    return lines


def _accuracies(data: ReportData) -> list[Row]:
    """Accuracies by one method a task: of labels where they are matched, else of the first rule, else of the first judge."""
    methods = {
        task_id: min(
            (row["scoring_method"] for row in rows), key=lambda name: (name != LABELS, not is_rule(name), name)
        )
        for task_id, rows in by(data["accuracy_by_variant"], "task_id").items()
    }
    return [row for row in data["accuracy_by_variant"] if row["scoring_method"] == methods[row["task_id"]]]


def _rank(row: Row) -> tuple[object, ...]:
    accuracy = None if row[_SCORES] is None else row[_SCORES]["accuracy"]
    disagreement = 0.0 if row[_ANSWERS] is None else round(row[_ANSWERS]["disagreement"] or 0.0, 9)
    return accuracy is None, accuracy or 0.0, -disagreement, row["model_id"], row["prompt_variant_id"]


def _finding(data: ReportData) -> str:
    originals = {row["prompt_variant_id"] for row in data.variants if row["is_original"]}
    costly: list[tuple[int, list[Row]]] = []
    for rows in by_group(known_rows(data, data["accuracy_by_variant"], "accuracy")):
        base = next((row["accuracy"] for row in rows if row["prompt_variant_id"] in originals), None)
        if base is not None and len(rows) > 1:
            costly.append((sum(row["accuracy"] < base - MUCH for row in rows), rows))
    if not costly:
        return ""
    n, rows = max(costly, key=lambda each: each[0])
    if not n:
        return f"No {word_for(data.variants)} costs more than {MUCH:g} of the original's accuracy"
    cost = "costs" if n == 1 else "cost"
    which = f"{n} of {len(rows)} {word_for(data.variants)}s"
    return f"{which} {cost} {whose(rows[0])} more than {MUCH:g} of the original's accuracy"


prompt_variants = Section(
    name="prompt_variants",
    title="Prompts, worst first",
    intro=(
        "Each wording stands with what it scored. The least accurate comes first; without gold labels, the first "
        "is the one whose answers differ most from the other wordings' (1 minus the chance that two wordings give "
        "a sample the same label). On other samples a wording scores nearer to the mean of all, by as much as "
        "chance moved it here."
    ),
    fill=_fill,
    finding=_finding,
    queries=("accuracy_by_variant", "prompt_variants"),
)
