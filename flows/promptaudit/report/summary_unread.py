"""Finds the tasks whose answers could not be read although another reader would read them.

Figures of such a task say more about its reader than about the answers.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from promptaudit.query.diagnosis.readings import seen
from promptaudit.report.blocks.blocks import Group, group_of
from promptaudit.system.display.figures import cut, shown
from promptaudit.system.display.policy import Texts
from promptaudit.udfs.readers.better_reader import Advice, as_option, better_reader, in_yaml
from promptaudit.warehouse import Row

Origin = Literal["run", "import"]


class UnreadAnswers(NamedTuple):
    """A task with answers that its reader does not read and another reader would, in a sentence that is safe to print.

    `groups` are the models and strategies with mostly unread answers: none of their figures says anything.
    """

    sentence: str
    groups: frozenset[Group]


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
        n_of, n_unread_of = Counter[Group](), Counter[Group]()
        for row in answers:
            n_of[group_of(row)] += row["n"]
            n_unread_of[group_of(row)] += row["n"] * row["is_unread"]
        groups = frozenset(group for group in n_of if 2 * n_unread_of[group] > n_of[group])
        advice = best if texts.of(task_id) != "none" else best._replace(examples=())
        found.append(UnreadAnswers(_sentence(answers[0], advice, origin), groups))
    return tuple(found)


def _sentence(task: Row, advice: Advice, origin: Origin) -> str:
    where, place = f"`reader: {in_yaml(advice.reader)}`", " in its task card"
    if origin == "import":
        where, place = f"`--reader {shlex.quote(as_option(advice.reader))}`", ""
    read = "; ".join(f"{cut(answer, 60)!r} as {cut(label, 40)}" for answer, label in advice.examples)
    return (
        f"task '{cut(task['task_id'], 60)}': {task['n_unread']:,} of {task['n_answers']:,} answers could not be read; "
        f"{shown(where)}{place} would read {advice.n_more:,} of them{': ' * bool(read)}{read}"
    )
