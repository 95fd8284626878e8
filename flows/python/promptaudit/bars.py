"""Draws how far a command's models are: tqdm's bars, in a terminal and in a notebook."""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Any, Self

from flows.display.progress import COUNT_MARK, COUNTS, visible

ENVIRONMENT = {COUNTS: "1"}
"""Has a command write counts among its lines."""


class Bars:
    """One bar a model or judge; whatever else a command says goes above them to stderr."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the bars as they stand."""
        self._close()

    def take(self, line: str) -> None:
        """Draws a line of counts, and writes any other as it is."""
        if not line.startswith(COUNT_MARK):
            self._close()
            sys.stderr.write(line)
            return
        for each in json.loads(line[len(COUNT_MARK) :]):
            bar = self._bars.get(each["name"])
            if bar is None:
                bar = self._bars[each["name"]] = _bar(visible(each["name"]), each["wanted"], each["done"])
            bar.set_postfix_str(each["cost"], refresh=False)
            bar.update(each["done"] - bar.n)

    def _close(self) -> None:
        """Ends the bars: what a command says next is about something else."""
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _bar(name: str, wanted: int, done: int) -> Any:  # noqa: ANN401 - a notebook's bar is of another class
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets a notebook has bars of text, and tqdm says so each time
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        return tqdm(desc=name, total=wanted, initial=done, unit="cell", mininterval=0.1)
