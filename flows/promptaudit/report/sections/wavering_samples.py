"""The samples that waver most, with their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptaudit.report.blocks.blocks import keyed
from promptaudit.report.blocks.cells import Cell, Traced
from promptaudit.report.data import ReportData
from promptaudit.system.display.figures import NAME, count, cut, number, paragraph
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MOST_GROUPS = 12  # model and strategy pairs a sample
MOST_LABELS = 8
_ANSWERS = ("task_id", "sample_id", "model_id", "strategy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One model's and strategy's answers to a sample: labels as (label or None for N/A, count, share), and examples."""

    model_id: str
    strategy: str
    sensitivity: Cell
    labels: list[tuple[str | None, str, float]]
    n_more_labels: int
    examples: list[tuple[str, str]]  # completion, count


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One of the most sensitive samples."""

    task_id: str
    sample_id: str
    gold_label: str | None
    sensitivity: str
    lines: list[str] | None  # of the input; None: not recorded
    groups: list[Answers]
    n_more_groups: int
    is_left_out: bool  # its texts


def samples(data: ReportData) -> list[Sample]:
    """Returns the samples whose labels depend most on the wording, by the mean over strategies and models.

    Models that answer by chance or err on purpose are left out of that mean where there is another model.
    """
    labels, examples = _by_answers(data.top_labels), _by_answers(data.top_examples)
    groups: dict[tuple[str, str], list[Answers]] = {}
    for key, row in keyed(data.top_sensitivities, *_ANSWERS).items():
        own = labels.get(key, [])
        n = sum(label["n"] for label in own)
        completions = [] if data.texts.of(row["task_id"]) == "none" else examples.get(key, [])
        answers = Answers(
            model_id=row["model_id"],
            strategy=row["strategy"],
            sensitivity=Traced("fct_sensitivity", row).number("sensitivity"),
            labels=[(label["label"], count(label["n"]), label["n"] / n) for label in own[:MOST_LABELS]],
            n_more_labels=max(0, len(own) - MOST_LABELS),
            examples=[(cut(each["completion"] or "", data.texts.long), count(each["n"])) for each in completions],
        )
        groups.setdefault((row["task_id"], row["sample_id"]), []).append(answers)
    return [_sample(data, row, groups.get((row["task_id"], row["sample_id"]), [])) for row in data.top]


def _by_answers(rows: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in _ANSWERS), []).append(row)
    return groups


def _sample(data: ReportData, row: Row, groups: list[Answers]) -> Sample:
    return Sample(
        task_id=row["task_id"],
        sample_id=row["sample_id"],
        gold_label=row["gold_label"],
        sensitivity=number(row["sensitivity"]),
        lines=None if row["input"] is None else paragraph(row["input"], data.texts.long),
        groups=groups[:MOST_GROUPS],
        n_more_groups=max(0, len(groups) - MOST_GROUPS),
        is_left_out=data.texts.of(row["task_id"]) == "none",
    )


def finding(data: ReportData) -> str:
    """Returns which sample depends most on the wording, in a sentence; empty where none does."""
    if not data.top:
        return ""
    first = data.top[0]
    sample = f"Sample {cut(first['sample_id'], NAME)} of {cut(first['task_id'], NAME)}"
    return f"{sample} depends most on the {word_for(data.variants)}: {number(first['sensitivity'])}"
