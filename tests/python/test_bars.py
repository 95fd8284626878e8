"""What a command says is drawn as bars in the process that called it."""

from __future__ import annotations

import json

import pytest

from promptaudit.python.bars import Bars, environment
from promptaudit.system.display.progress import COUNT_MARK, COUNTS, Progress


class Meter:
    """A meter that counts."""

    name, wanted, done = "model\x1b[2J", 3, 1

    def count(self, answer: object, engine: object) -> None:
        del answer, engine
        self.done += 1

    def cost(self) -> str:
        return "0.1 USD"

    def line(self) -> str:
        return "model: done"


def test_counts_become_a_bar_and_lines_stay_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COUNTS, "1")
    # a program that reads the lines has no bars among them
    assert environment() == {}
    with Progress().asking("cells", [Meter()]) as on_answer:
        on_answer(Meter.name, None, None)
        on_answer(Meter.name, None, None)
    said = capsys.readouterr().err.splitlines(keepends=True)
    counts = [json.loads(line[1:])[0]["done"] for line in said if line.startswith(COUNT_MARK)]
    assert (counts[0], counts[-1]) == (2, 3)
    with Bars() as bars:
        for line in said:
            bars.take(line)
    drawn = capsys.readouterr().err
    assert COUNT_MARK not in drawn
    assert "\x1b[2J" not in drawn
    assert "3/3" in drawn
    assert drawn.startswith("asking 2 of 3 cells\n")
    assert drawn.endswith("model: done\n")
    with Bars() as bars:  # what is said while bars are drawn, and half a line of one that was killed
        assert [bars.take(line) for line in (said[1], "first answer\n", f"{COUNT_MARK}[{{\n")] == [False, True, False]
    assert "first answer\n" in capsys.readouterr().err
