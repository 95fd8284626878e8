"""A task of questions with its data, for audits of models that are really asked."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

LABELS = ("number", "person")


def write_questions(
    registry: Path, rows: Sequence[tuple[str, str]], reader: str = "label", labels: Sequence[str] = LABELS
) -> None:
    """Writes the task `questions` of some questions and labels into a new registry, whose other folders are empty."""
    for kind in ("models", "tasks", "audits", "datasets"):
        (registry / kind).mkdir(parents=True, exist_ok=True)
    (registry / "tasks/questions.yml").write_text(
        f"questions:\n  labels: [{', '.join(labels)}]\n  instruction: Classify the question by the type of its answer.\n"
        f"  output_format: Reply with the label alone.\n  reader: {reader}\n"
        "  data: {path: datasets/questions.csv, id: id, input: question, gold_label: type}\n"
    )
    with (registry / "datasets/questions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "type"])
        writer.writerows([f"q{number}", *row] for number, row in enumerate(rows))


def numbered(n: int, labels: Sequence[str] = LABELS) -> list[tuple[str, str]]:
    """Questions about numbers, their labels in turn."""
    return [(f"What is number {number}?", labels[number % len(labels)]) for number in range(n)]
