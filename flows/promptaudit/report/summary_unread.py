"""Finds the tasks whose answers could not be read although another reader would read them.

Figures of such a task say more about its reader than about the answers.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from promptaudit.query.diagnosis.readings import seen
from promptaudit.system.display.figures import cut, shown
from promptaudit.system.display.policy import Texts
from promptaudit.udfs.readers.better_reader import as_option, better_reader, in_yaml
from promptaudit.warehouse import Row

Origin = Literal["run", "import"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadAnswers:
    """A task with answers that its reader does not read and another reader would.

    `groups` are the models and strategies with mostly unread answers: none of their figures says anything.
    """

    task_id: str
    n_unread: int
    n_answers: int
    reader: str | dict[str, str]
    n_more: int
    examples: tuple[tuple[str, str], ...]
    groups: frozenset[tuple[str, str, str]]
    origin: Origin

    @property
    def sentence(self) -> str:
        """A sentence on how many answers are unread and which reader to set, safe to print."""
        where, place = f"`reader: {in_yaml(self.reader)}`", " in its task card"
        if self.origin == "import":
            where, place = f"`--reader {shlex.quote(as_option(self.reader))}`", ""
        read = "; ".join(f"{cut(answer, 60)!r} as {cut(label, 40)}" for answer, label in self.examples)
        return (
            f"task '{cut(self.task_id, 60)}': {self.n_unread:,} of {self.n_answers:,} answers could not be read; "
            f"{shown(where)}{place} would read {self.n_more:,} of them{': ' * bool(read)}{read}"
        )


def unread_answers(rows: Sequence[Row], origin: Origin, texts: Texts) -> tuple[UnreadAnswers, ...]:
    """Finds the tasks of which another reader would read more answers, from rows of `read_answers`.

    `texts` says for which tasks answers may be quoted.
    """
    found = []
    for task_id, of_task in groupby(rows, lambda row: row["task_id"]):
        answers = list(of_task)
        best = better_reader(seen(answers)) if answers[0]["n_unread"] else None
        if best is None:
            continue
        n_of, n_unread_of = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
        for row in answers:
            group = (row["model_id"], task_id, row["strategy"])
            n_of[group] += row["n"]
            n_unread_of[group] += row["n"] * row["is_unread"]
        first = answers[0]
        found.append(
            UnreadAnswers(
                task_id=task_id,
                n_unread=first["n_unread"],
                n_answers=first["n_answers"],
                reader=best.reader,
                n_more=best.n_more,
                examples=best.examples if texts.of(task_id) != "none" else (),
                groups=frozenset(group for group in n_of if 2 * n_unread_of[group] > n_of[group]),
                origin=origin,
            )
        )
    return tuple(found)
