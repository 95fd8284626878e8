"""Data of the shape that the three papers' published sets have, and the cards that ask it at a server on loopback.

Every text holds its task and number, such as `trec-17`, from which the server knows what is right. All cards are the
shipped ones: tasks read a local file in place of the hub, models are asked at the loopback address, and the audits ask for
less.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from promptaudit.registry.registry import SHIPPED

Rows = list[dict[str, Any]]
OPTIONS = ("granite", "copper", "amber", "marble")
FACTS = ("Oskar Lindqvist", "the harbour of Varde", "Maria Teller", "seven bridges", "Lake Onnen")
EXTRA = ("Nobody in the village was surprised.", "It rained.", "The clerk wrote it down twice and went home early.")
OUTCOMES = {  # task: its column, and the number of its classes
    "tweets_rd": ("text", 2),
    "tweets_pop": ("text", 2),
    "news": ("body", 3),
    "news_short": ("body", 3),
    "manifestos": ("sentence_context", 2),
    "manifestos_multi": ("sentence_context", 10),
    "stance": ("Tweet", 2),
    "stance_long": ("Tweet", 2),
    "mii": ("MII_textW", 5),
    "mii_long": ("MII_textW", 12),
    "synth": ("profile", 2),
    "synth_short": ("profile", 2),
}


def said(task: str, number: int) -> str:
    """Returns a sentence that names the task and the number of a sample."""
    return f"Record {task}-{number} of the archive: {EXTRA[number % len(EXTRA)]}"


def classified(column: str, gold: str, n_classes: int, **more: Callable[[int], Any]) -> Callable[[str, int], Rows]:
    """Returns what makes rows of a text column and a column with the number of the class."""

    def rows(task: str, n: int) -> Rows:
        return [
            {column: said(task, i), gold: i % n_classes, **{name: value(i) for name, value in more.items()}}
            for i in range(n)
        ]

    return rows


def choices(question: str, gold: str, **more: Callable[[int], Any]) -> Callable[[str, int], Rows]:
    """Returns what makes rows of multiple-choice questions as the hub has them: options nested with their letters."""

    def rows(task: str, n: int) -> Rows:
        return [
            {
                "id": f"{task}_{i}",
                question: f"Which stone was found in case {task}-{i}?",
                "choices": {"text": [f"{stone} {i}" for stone in OPTIONS], "label": list("ABCD")},
                gold: "ABCD"[i % 4],
                **{name: value(i) for name, value in more.items()},
            }
            for i in range(n)
        ]

    return rows


def number_of(i: int) -> int:
    """Returns the result of the i-th problem of mathematics."""
    return 7 * i + 3


def fact_of(i: int) -> str:
    """Returns the answer to the i-th open question."""
    return f"{FACTS[i % len(FACTS)]} {chr(ord('A') + i % 26)}"


def gpqa(task: str, n: int) -> Rows:
    rows = choices("question", "answer")(task, n)
    return [{**{k: v for k, v in row.items() if k != "choices"}, "options": row["choices"]["text"]} for row in rows]


def math(task: str, n: int) -> Rows:
    return [
        {
            "problem": f"In exercise {task}-{i}, compute ${number_of(i) - 1} + 1$.",
            "answer": str(number_of(i)),
            "solution": "Add.",
            "subject": "Algebra",
            "level": 1 + i % 5,
            "unique_id": f"test/algebra/{i}.json",
        }
        for i in range(n)
    ]


def narrativeqa(task: str, n: int) -> Rows:
    return [
        {
            "document": {
                "id": f"d{i}",
                "kind": "gutenberg",
                "summary": {"text": f"In the end they find {fact_of(i)}."},
            },
            "question": {"text": f"What do they find in story {task}-{i}?", "tokens": ["What"]},
            "answers": [{"text": fact_of(i), "tokens": []}, {"text": f"It is {fact_of(i)}", "tokens": []}],
        }
        for i in range(n)
    ]


def simpleqa(task: str, n: int) -> Rows:
    return [
        {"metadata": "{'topic': 'Art'}", "problem": f"What is entry {task}-{i} about?", "answer": fact_of(i)}
        for i in range(n)
    ]


def idx(i: int) -> int:
    return i


MADE: Mapping[str, Callable[[str, int], Rows]] = {
    "trec": classified("text", "coarse_label", 6, fine_label=idx),
    "cb": classified("hypothesis", "label", 3, premise=lambda i: f"They say that it was so in {1900 + i}.", idx=idx),
    "rte": classified("hypothesis", "label", 2, premise=lambda i: f"It was so in {1900 + i}.", idx=idx),
    "dbpedia": classified("content", "label", 14, title=lambda i: f"Entry {i}"),
    "wos": classified("input_data", "label_level_1", 7, label=idx, label_level_2=idx),
    "arc_challenge": choices("question", "answerKey"),
    "openbookqa": choices("question_stem", "answerKey"),
    "gpqa": gpqa,
    "math": math,
    "narrativeqa": narrativeqa,
    "simpleqa": simpleqa,
}


def shipped(kind: str) -> dict[str, Any]:
    """Returns every shipped card of a kind by its id, each value as the text written."""
    found: dict[str, Any] = {}
    for path in sorted((SHIPPED / kind).glob("**/*.yml")):
        found |= yaml.load(path.read_text("utf-8"), yaml.BaseLoader) or {}  # noqa: S506 - it makes text alone
    return found


def write_registry(
    folder: Path, base_url: str, audit_id: str, n_rows: Mapping[str, int], less: Mapping[str, Any]
) -> None:
    """Writes the data and the cards that a paper's audit needs here: `less` are the fields of the audit that ask for less."""
    audit = shipped("audits")[audit_id] | less
    tasks, local = shipped("tasks"), {}
    for task_id in audit["tasks"]:
        data = tasks[task_id]["data"]
        if "hub" in data:
            for name in ("hub", "config", "split", "revision"):
                data.pop(name, None)
            data["path"] = f"datasets/papers/{task_id}.jsonl"
            local[task_id] = tasks[task_id]
        write_rows(folder / data["path"], rows_of(task_id, n_rows[task_id]))
    asked = {name: card for name, card in shipped("models").items() if "base_url" in card}
    models = {name: card | {"base_url": base_url, "limits": {"max_connections": "32"}} for name, card in asked.items()}
    for kind, cards in (("tasks", local), ("models", models), ("audits", {audit_id: audit})):
        path = folder / kind / "papers.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(cards), "utf-8")


def rows_of(task_id: str, n: int) -> Rows:
    """Returns n rows as a task's published data has them."""
    if task_id in MADE:
        return MADE[task_id](task_id, n)
    column, _ = OUTCOMES[task_id.removeprefix("pss_")]
    return [{"": i, column: said(task_id.removeprefix("pss_"), i), "source": "made"} for i in range(n)]


def write_rows(path: Path, rows: Rows) -> None:
    """Writes rows as JSON lines, or as CSV where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
