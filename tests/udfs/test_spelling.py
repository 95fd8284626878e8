"""Texts of any length are brought into one form in linear time."""

from __future__ import annotations

import time
import unicodedata

import pytest

from promptaudit.udfs.spelling import MOST_MARKS, canonical, folded, normalised


@pytest.mark.parametrize("text", ["\u0301\u0323", "e\u0301 \u1100\u1161", "日本語。", "a\u0327\u0301b "])
def test_a_long_text_is_as_unicode_has_it_where_marks_are_few(text: str) -> None:
    repeated = text * (2000 if len(text) > 2 else MOST_MARKS // 2)
    assert normalised("NFC", repeated) == unicodedata.normalize("NFC", repeated)
    assert normalised("NFKC", repeated) == unicodedata.normalize("NFKC", repeated)


def test_marks_without_end_take_no_time() -> None:
    start = time.process_time()
    for read in (canonical, folded):
        assert len(read("e" + "\u0301\u0323" * 100_000)) == 200_000  # the first mark and the letter become one
    assert time.process_time() - start < 5  # sorted in one piece each takes more than half a minute
