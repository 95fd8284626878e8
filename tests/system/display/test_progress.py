"""What a person at a terminal is asked."""

from __future__ import annotations

import os
import sys

import pytest

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
