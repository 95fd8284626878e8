"""Finds tasks of which two readers read the same answers as different labels, so that the choice makes the figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from promptaudit.system.display.figures import cut, shown
from promptaudit.system.display.policy import Texts
from promptaudit.udfs.readers.better_reader import SeenAnswer, disagreement, in_yaml
from promptaudit.warehouse import Row


def read_differently(rows: Sequence[Row], texts: Texts) -> tuple[str, ...]:
    """Writes a sentence for each task whose answers another reader reads as other labels, safe to print.

    `rows` come from `read_answers`; `texts` says whose answers may be quoted.
    """
    found = []
    for task_id, of_task in groupby(rows, lambda row: row["task_id"]):
        answers = list(of_task)
        other = disagreement(seen(answers), answers[0]["reader"])
        if other is None:
            continue
        own = json.loads(answers[0]["reader"])
        examples = other.examples if texts.of(task_id) != "none" else ()
        said = "; ".join(f"{cut(text, 60)!r} is {cut(one, 40)} or {cut(two, 40)}" for text, one, two in examples)
        found.append(
            f"task '{cut(task_id, 60)}': {other.n:,} of {other.n_compared:,} answers that were compared have another "
            f"label by the reader `{other.reader}` than by its own, "
            f"`{shown(in_yaml(own))}`, which all figures are of{': ' * bool(said)}{said}"
        )
    return tuple(found)


def seen(rows: Sequence[Row]) -> list[SeenAnswer]:
    """Turns rows of `read_answers` into answers on which readers are compared."""
    return [SeenAnswer(row["answer"], tuple(row["labels"]), row["label"], row["n"], row["gold_label"]) for row in rows]
