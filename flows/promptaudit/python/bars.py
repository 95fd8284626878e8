"""Draws the progress of a command's models as tqdm's bars, in a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import json
import sys
from types import TracebackType
from typing import Any, Self

from promptaudit.system.display.progress import COUNT_MARK, COUNTS, visible


def environment() -> dict[str, str]:
    """Makes the variables by which a command writes counts among its lines. Empty without a terminal or notebook."""
    return {COUNTS: "1"} if sys.stderr.isatty() or "ipykernel" in sys.modules else {}


class Bars:
    """Draws one bar for each model or judge. All other lines of a command go above them to stderr."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Begins the bars."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the bars as they stand."""
        self._close()

    def take(self, line: str) -> bool:
        """Draws a line of counts and gives False; writes any other line as it is and gives True."""
        if not line.startswith(COUNT_MARK):
            self._write(line)
            return True
        with contextlib.suppress(ValueError):  # a command that is killed may leave half a line
            self._draw(json.loads(line[len(COUNT_MARK) :]))
        return False

    def _draw(self, counts: list[dict[str, Any]]) -> None:
        if self._bars.keys() != {each["name"] for each in counts}:
            self._close()
            self._bars = {each["name"]: _bar(visible(each["name"]), each["wanted"], each["done"]) for each in counts}
        for each in counts:
            bar = self._bars[each["name"]]
            bar.set_postfix_str(each["cost"], refresh=False)
            bar.update(each["done"] - bar.n)

    def _write(self, line: str) -> None:
        if all(bar.n >= bar.total for bar in self._bars.values()):
            self._close()
        if self._bars:
            next(iter(self._bars.values())).write(line, file=sys.stderr, end="")
        else:
            sys.stderr.write(line)

    def _close(self) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _bar(name: str, wanted: int, done: int) -> Any:  # noqa: ANN401 - a notebook's bar is of another class
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets a notebook has bars of text, and tqdm says so each time
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        return tqdm(desc=name, total=wanted, initial=done, unit="cell", mininterval=0.1)
