"""Finds the reader that would read more of the first answers than their task's reader does, and where to write it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from promptaudit.ask.first_answers import FIRST, Read
from promptaudit.engines import Answer, Request
from promptaudit.system.display.figures import cut
from promptaudit.udfs.readers.better_reader import SeenAnswer, better_reader, in_yaml
from promptaudit.udfs.readers.reading import MAX_READ_CHARACTERS


class ReaderAdvice:
    """Keeps a model's first answers by task; `files` has the card's file of each task whose reader its card names."""

    def __init__(self, files: Mapping[str, str], read: Read) -> None:
        self._files, self._read = files, read
        self._answers: dict[str, list[SeenAnswer]] = defaultdict(list)
        self._n = 0

    def read(self, request: Request, answer: Answer) -> tuple[str | None, bool]:
        """Reads the label of an answer and whether it could be read, and keeps the answer if it is one of the first."""
        label, is_read = self._read(request, answer)
        if answer.completion is not None and self._n < FIRST and request.task_id in self._files:
            self._n += 1
            first = SeenAnswer(answer.completion[:MAX_READ_CHARACTERS], tuple(request.labels), label)
            self._answers[request.task_id].append(first)
        return label, is_read

    def lines(self) -> Iterator[str]:
        """Yields a line for each task of which another reader would read more answers."""
        for task_id, answers in self._answers.items():
            n_unread = sum(answer.label is None for answer in answers)
            best = better_reader(answers) if n_unread else None
            if best is None:
                continue
            read = "; ".join(f"{cut(answer, 60)!r} as {cut(label, 40)}" for answer, label in best.examples)
            yield (
                f"task '{task_id}': {n_unread} of the first {len(answers)} answers could not be read; "
                f"`reader: {in_yaml(best.reader)}` in {self._files[task_id]} would read {best.n_more} of them: {read}"
            )
