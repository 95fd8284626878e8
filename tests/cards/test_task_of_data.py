"""Which column of a user's file is the text, the gold label and the id."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.cards.task_of_data import columns_of, split_labels
from promptaudit.registry.errors import DataError, UsageError


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_usual_names_are_taken_first(tmp_path: Path) -> None:
    # `source` is longer than `text` and of few values, but both have a usual name beside them
    rows = "".join(f"r{n},a text,{'yes' if n % 3 else 'no'},https://example.org/a/long/address\n" for n in range(9))
    found = columns_of(written(tmp_path, f"id,text,label,source\n{rows}"))
    assert (found.id, found.input, found.gold_label) == ("id", "text", "label")
    assert (found.labels, found.n_rows) == (("no", "yes"), 9)
    assert found.sentence == "9 rows; input 'text', gold label 'label', id 'id'; labels: no, yes"


def test_unusual_names_are_told_by_what_the_columns_hold(tmp_path: Path) -> None:
    rows = "".join(f"{n},what somebody wrote number {n},{'good' if n % 2 else 'bad'}\n" for n in range(8))
    found = columns_of(written(tmp_path, f"nr,Kommentar,Urteil\n{rows}"))
    assert (found.id, found.input, found.gold_label) == (None, "Kommentar", "Urteil")


def test_an_id_that_repeats_is_none(tmp_path: Path) -> None:
    found = columns_of(written(tmp_path, "id,text,gold\n1,x,a\n1,y,b\n2,z,a\n3,w,b\n"))
    assert found.id is None


def test_labels_may_be_given_where_there_is_no_gold(tmp_path: Path) -> None:
    path = written(tmp_path, "text\none\ntwo\nthree\n")
    found = columns_of(path, ["yes", "no"])
    assert (found.gold_label, found.labels) == (None, ("yes", "no"))
    with pytest.raises(
        UsageError, match=r"mine\.csv: no column holds a few labels, of 'text'; name them: --labels yes,no"
    ):
        columns_of(path)


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("text,label\nx,yes\ny,no\n", ["yes", "nope"], "--labels: column 'label' also holds 'no'; nearest: nope"),
        ("label\nyes\nno\nyes\nno\n", [], "mine.csv: no column is left for the text, only 'label'"),
        ("", [], "mine.csv: no rows"),
    ],
)
def test_what_cannot_be_told_is_said_in_a_line(tmp_path: Path, text: str, labels: list[str], message: str) -> None:
    with pytest.raises((UsageError, DataError)) as caught:
        columns_of(written(tmp_path, text), labels)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_that_differ_in_unicode_form_alone_are_one(tmp_path: Path) -> None:
    path = written(tmp_path, "text,label\n" + "x,n\u00e3o\ny,na\u0303o\nz,sim\n" * 2)
    assert columns_of(path).labels == ("n\u00e3o", "sim")
    assert columns_of(path, ["na\u0303o", "sim"]).gold_label == "label"


def test_a_gold_column_without_values_is_none(tmp_path: Path) -> None:
    found = columns_of(written(tmp_path, "text,label\nx,\ny,\n"), ["a", "c"])
    assert (found.gold_label, found.labels) == (None, ("a", "c"))


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_another_separator_is_read(tmp_path: Path, sign: str) -> None:
    found = columns_of(written(tmp_path, "text,label\nx,a\ny,b\nz,a\nu,b\n".replace(",", sign)))
    assert (found.input, found.gold_label, found.labels) == ("text", "label", ("a", "b"))


def test_labels_may_hold_commas() -> None:
    assert split_labels('["a, b", "c"]') == ("a, b", "c")
    assert split_labels("a, c") == ("a", "c")
