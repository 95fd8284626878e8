"""The samples that waver most, with their answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from flows.display.figures import count, cut, number, paragraph
from flows.report.blocks.blocks import Group
from flows.report.blocks.cells import Cell, Traced
from flows.report.gather import Gathered

MOST_GROUPS = 12  # model and strategy pairs a sample
MOST_LABELS = 8


@dataclass(slots=True)
class Answers:
    """One model's and strategy's answers to a sample: labels as (label or None for N/A, count, share), and examples."""

    model_id: str
    strategy: str
    sensitivity: Cell
    labels: list[tuple[str | None, str, float]] = field(default_factory=list)
    n_more_labels: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)  # completion, count


@dataclass(slots=True, kw_only=True)
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


def samples(found: Gathered) -> list[Sample]:
    """The samples whose labels depend most on the wording, on average over models and strategies."""
    parts: dict[tuple[str, str], dict[Group, Answers]] = {}
    for row in found.top_sensitivities:
        group = (row["model_id"], row["strategy"])
        of_sample = parts.setdefault((row["task_id"], row["sample_id"]), {})
        of = Traced("fct_sensitivity", row, found.run["audit_run_id"])
        of_sample[group] = Answers(*group, of.number("sensitivity"))
    counts: dict[tuple[str, ...], int] = {}
    for row in found.top_labels:
        key = (row["task_id"], row["sample_id"], row["model_id"], row["strategy"])
        counts[key] = counts.get(key, 0) + row["n"]
    for row in found.top_labels:
        answers = parts[row["task_id"], row["sample_id"]].get((row["model_id"], row["strategy"]))
        if answers is None:
            continue
        if len(answers.labels) == MOST_LABELS:
            answers.n_more_labels += 1
            continue
        share = row["n"] / counts[row["task_id"], row["sample_id"], row["model_id"], row["strategy"]]
        answers.labels.append((row["label"], count(row["n"]), share))
    for row in found.top_examples:
        answers = parts[row["task_id"], row["sample_id"]].get((row["model_id"], row["strategy"]))
        if answers is not None and found.texts.of(row["task_id"]) != "none":
            answers.examples.append((cut(row["completion"] or "", found.texts.long), count(row["n"])))
    out = []
    for row in found.top:
        groups = list(parts.get((row["task_id"], row["sample_id"]), {}).values())
        lines = None if row["input"] is None else paragraph(row["input"], found.texts.long)
        out.append(
            Sample(
                task_id=row["task_id"],
                sample_id=row["sample_id"],
                gold_label=row["gold_label"],
                sensitivity=number(row["sensitivity"]),
                lines=lines,
                groups=groups[:MOST_GROUPS],
                n_more_groups=max(0, len(groups) - MOST_GROUPS),
                is_left_out=found.texts.of(row["task_id"]) == "none",
            )
        )
    return out
