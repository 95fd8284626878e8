"""The section on the prompts themselves: every wording with its scores, worst first."""

from __future__ import annotations

from flows.display.figures import ABSENT, cut
from flows.report.blocks.blocks import Section, Table
from flows.report.blocks.cells import Printed, Traced
from flows.report.gather import Gathered
from flows.report.gather_judged import LABELS, is_judge
from flows.report.page_room import Room, by_model
from flows.report.sections.answers import named
from flows.report.sections.sensitivity import why_older
from flows.warehouse import Row

MOST_MODELS = 6  # tables a task
WORST = 6
_COLUMNS = (
    "Strategy",
    "Variant",
    "Instruction",
    "Accuracy",
    "Answers scored",
    "Invalid rate",
    "Differs from the others",
)
_NOT_ASKED = "No answer to any wording has landed."


def wordings(found: Gathered, room: Room) -> Section:
    """The variants of each task and model by accuracy, then by how far their answers differ from those of the others."""
    section = Section(
        "wordings",
        "Prompts, worst first",
        "Each wording with what it scored: the least accurate first, where there are no gold labels the one whose answers "
        "differ most from the other wordings' (1 less the chance that two wordings give a sample the same label).",
    )
    scores = {(row["model_id"], row["prompt_variant_id"]): row for row in _accuracies(found)}
    answered = {(row["model_id"], row["prompt_variant_id"]): row for row in found.answered.prompt_variants}
    variants = {row["prompt_variant_id"]: row for row in found.variants}
    kinds = {row["model_id"]: row["kind"] for row in found.sampled.references}
    for task_id, block, _ in section.of_tasks(found.scorecard):
        models = by_model(
            [row for row in found.formats if row["task_id"] == task_id and row["n_landed"] > row["n_error"]]
        )
        if not models:
            block.absent.append(_NOT_ASKED)
            continue
        told = [model for model in models if kinds.get(model) != "random"] or list(models)
        if len(told) < len(models):
            block.notes.append("A model that answers by chance reads no prompt: its wordings are left aside.")
        for place, model in enumerate(told[:MOST_MODELS]):
            lines = _lines(found, models[model], variants, scores, answered)
            if place == 0:
                caption = f"The worst prompts under {cut(model, 60)}"
                block.tables.append(
                    Table(caption=caption, columns=_COLUMNS, rows=lines[:WORST], n_heads=2, n_figures=4, is_open=True)
                )
            if len(lines) > WORST or place:
                block.tables.append(room.table(f"All prompts under {cut(model, 60)}", _COLUMNS, lines, 2, 4))
        if len(told) > MOST_MODELS:
            block.notes.append(f"The prompts under the first {MOST_MODELS} of {len(told)} models.")
        if older := why_older(found):
            block.notes.append(older)
    return section


def _accuracies(found: Gathered) -> list[Row]:
    """Accuracies by one method a task: of labels where they are matched, else of the first rule, else of the first judge."""
    chosen: dict[str, str] = {}
    for row in found.accuracies:
        method = row["scoring_method"]
        rank = (method != LABELS, is_judge(method), method)
        best = chosen.get(row["task_id"])
        if best is None or rank < (best != LABELS, is_judge(best), best):
            chosen[row["task_id"]] = method
    return [row for row in found.accuracies if row["scoring_method"] == chosen[row["task_id"]]]


def _lines(
    found: Gathered,
    rows: list[Row],
    variants: dict[str, Row],
    scores: dict[tuple[str, str], Row],
    answered: dict[tuple[str, str], Row],
) -> list[tuple[Printed, ...]]:
    ranked = []
    for row in rows:
        key = (row["model_id"], row["prompt_variant_id"])
        score, own = scores.get(key), answered.get(key)
        variant = variants.get(row["prompt_variant_id"])
        right = None if score is None else Traced("fct_variant_accuracy", score)
        of = None if own is None else Traced("rpt_prompt_variants", own)
        line: tuple[Printed, ...] = (
            row["strategy"], f"{named(variant)}{', original' if (variant or {}).get('is_original') else ''}",
            cut((variant or {}).get("instruction") or "not recorded", found.texts.long),
            *((ABSENT, ABSENT) if right is None else (right.number("accuracy"), right.count("n_scored"))),
            *((ABSENT, ABSENT) if of is None else (of.percent("invalid_rate"), of.number("disagreement"))),
        )  # fmt: skip
        accuracy = None if score is None else score["accuracy"]
        disagreement = 0.0 if own is None else round(own["disagreement"] or 0.0, 9)
        ranked.append(((accuracy is None, accuracy or 0.0, -disagreement, *key), line))
    return [line for _, line in sorted(ranked, key=lambda pair: pair[0])]
