"""What a person at a terminal is asked, and how much is said where there is none."""

from __future__ import annotations

import os
import sys

import pytest

from promptaudit.ask.meters import RequestMeter
from promptaudit.engines import Answer
from promptaudit.system.display import progress
from promptaudit.system.display.progress import Progress

TEXTS = ["Judge it.", "Be\nkind."]


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("\n", "Judge it."),
        ("2\n", "Be\nkind."),
        (" Say why. \n", "Say why."),
        ("3\n", "3"),
        ("0\n", "0"),
        ("", "Judge it."),
    ],
)
def test_a_text_is_chosen_by_its_number_or_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, chosen: str
) -> None:
    read, write = os.pipe()
    os.write(write, answer.encode())
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert Progress().choose_text(TEXTS) == chosen
    assert capsys.readouterr().err.startswith("1  Judge it.\n2  Be kind.\nwhich text is reworded")


@pytest.mark.parametrize(
    ("seconds", "at"),
    [
        (9, []),
        (528, [11, 32, 73, 154, 315]),
        (3600, [11, 32, 73, 154, 315, 636, 1237, 1838, 2439, 3040]),
    ],
)
def test_a_log_has_a_line_of_progress_the_more_rarely_the_longer_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seconds: int, at: list[int]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with Progress().asking("cells", [RequestMeter("m", seconds, 0, None)]) as on_answer:
        for second in range(1, seconds):
            now = float(second)
            on_answer("m", Answer(completion="yes"), None)
    begun, *said, last = capsys.readouterr().err.splitlines()
    assert (begun, last.split(" ")[1]) == (f"asking {seconds} of {seconds} cells", f"{seconds - 1}/{seconds}")
    assert [int(line.split(" ")[1].split("/")[0]) for line in said] == at
