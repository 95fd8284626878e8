"""Which column of a user's file is the text, the gold label and the id."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.cards.task_of_data import NamedColumns, columns_of, split_labels
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.registry.samples import load_samples


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
    assert (found.id, found.input, found.gold_label) == ("nr", "Kommentar", "Urteil")


def test_an_id_that_repeats_is_none(tmp_path: Path) -> None:
    found = columns_of(written(tmp_path, "id,text,gold\n1,x,a\n1,y,b\n2,z,a\n3,w,b\n"))
    assert found.id is None
    assert len(found.notes) == 1
    assert found.notes[0].startswith(
        "no id, since column 'id' is none: '1' stands in two rows: a row that goes or moves loses"
    )


@pytest.mark.parametrize(
    ("header", "rows", "key"),
    [
        ("text,ticket_id", ["a b,T-1", "c d,T-2", "e f,T-3"], "ticket_id"),
        ("text,code", ["a b,x1", "c d,x2", "e f,x9"], "code"),  # codes with digits
        ("text,place", ["a b,7", "c d,5", "e f,6"], "place"),  # whole numbers one after the other
        ("text,price", ["a b,7", "c d,5.5", "e f,6"], None),  # numbers with gaps count something
        ("text,price", ["a b,7", "c d,50", "e f,6"], None),
        ("text,word", ["a b,x", "c d,y", "e f,z"], None),
        ("text,year_id", ["a b,1", "c d,", "e f,3"], None),  # not for each row
        ("id,case_nr,text", ["1,8,a b", "1,9,c d"], "case_nr"),  # the usual one repeats
        ("text,order number", ["a b,7", "c d,50", "e f,6"], "order number"),
        ("text,number", ["a b,7", "c d,50", "e f,6"], None),
        ("text,phone_number", ["a b,555-01", "c d,555-02", "e f,555-03"], None),
    ],
)
def test_an_id_is_unique_and_called_or_written_as_one(
    tmp_path: Path, header: str, rows: list[str], key: str | None
) -> None:
    path = written(tmp_path, "\n".join([header, *rows]) + "\n")
    found = columns_of(path, ["yes", "no"])
    assert (found.id, len(found.notes)) == (key, key is None)
    assert columns_of(path, ["yes", "no"], (), NamedColumns(id="-")).id is None


def test_columns_are_as_a_person_names_them(tmp_path: Path) -> None:
    path = written(
        tmp_path, "id,text,label,Second,other\n" + "".join(f"{n},t{n},{n % 2},x {n},{n % 3}\n" for n in range(9))
    )
    found = columns_of(path, (), (), NamedColumns(input="second", gold="other", id="text"))
    assert (found.input, found.gold_label, found.id, found.labels) == ("Second", "other", "text", ("0", "1", "2"))
    for named, message in (
        (NamedColumns(gold="lables"), "--gold: no column is called 'lables'; nearest: label"),
        (NamedColumns(input="txt"), "--input: no column is called 'txt'; nearest: text"),
        (NamedColumns(id="label"), "--id: column 'label' is no id: '0' stands in two rows"),
        (NamedColumns(input="Label", gold="label"), "column 'label' cannot be both the text and the gold label"),
        (NamedColumns(kind="open"), "--kind open: no kind of task; nearest: open_ended"),
        (NamedColumns(kind="multiple_choice"), "no columns are options, of 'id', 'text', 'label'"),
        (NamedColumns(kind="classification", gold="-"), "no column holds a few labels, of 'id', 'text'"),
    ):
        with pytest.raises(UsageError) as caught:
            columns_of(path, (), (), named)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("gold", "gold_labels"),
    [
        ("ABC", {}),
        ("abc", {"a": "A", "b": "B", "c": "C"}),
        ("012", {"0": "A", "1": "B", "2": "C"}),
        ("123", {"1": "A", "2": "B", "3": "C"}),
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_options_are_columns_or_a_list_and_the_gold_label_a_letter_or_a_place(
    tmp_path: Path, gold: str, gold_labels: dict[str, str], is_list: bool
) -> None:
    options = '"[""x"", ""y"", ""z""]"' if is_list else "x,y,z"
    header = "id,question,choices,answer" if is_list else "id,question,option_a,option_b,option_c,answer"
    path = written(tmp_path, f"{header}\n" + "".join(f"q{n},Which?,{options},{gold[n % 3]}\n" for n in range(6)))
    found = columns_of(path)
    assert (found.kind, found.input, found.labels) == ("multiple_choice", "question", ("A", "B", "C"))
    assert found.options == (("choices",) if is_list else ("option_a", "option_b", "option_c"))
    assert found.gold_labels == gold_labels
    assert len(found.notes) == gold.isdigit()


@pytest.mark.parametrize("is_list", [False, True])
def test_the_gold_label_may_be_the_text_of_its_rows_option(tmp_path: Path, is_list: bool) -> None:
    rows = [("red", "blue", "red"), ("12", "2", "2"), ("blue", "red", " red "), ("2", "1", "")]
    header = "question,choices,answer" if is_list else "question,option_a,option_b,answer"
    texts = [(f'"[""{a}"", ""{b}""]"' if is_list else f"{a},{b}", right) for a, b, right in rows]
    path = written(tmp_path, f"{header}\n" + "".join(f"Which {n}?,{o},{r}\n" for n, (o, r) in enumerate(texts)))
    found = columns_of(path)
    assert (found.kind, found.labels, found.gold_labels, found.notes[1:]) == ("multiple_choice", ("A", "B"), {}, ())
    card = TaskCard.model_validate(
        {
            "kind": "multiple_choice",
            "templates": "none",
            "labels": ["A", "B"],
            "data": {"path": path.name, "input": "question", "gold_label": "answer", "options": list(found.options)},
        }
    )
    assert [each.gold_label for each in load_samples("t", card, tmp_path)] == ["A", "B", "B", None]


def test_what_is_the_text_of_no_option_of_its_row_is_no_gold_label(tmp_path: Path) -> None:
    path = written(tmp_path, "question,option_a,option_b,answer\nWhich?,red,blue,red\nWhy?,green,blue,red\n")
    with pytest.raises(
        UsageError, match=r"column 'answer' holds 'red', which is neither the letter of an option \(A to B\)"
    ):
        columns_of(path)


def test_an_option_has_no_place_below_zero(tmp_path: Path) -> None:
    rows = "".join(f"Which?,x,y,z,{gold}\n" for gold in (-1, 0, 1, 2))
    with pytest.raises(UsageError, match="column 'gold' holds '-1', which is neither the letter of an option"):
        columns_of(written(tmp_path, f"question,option_a,option_b,option_c,gold\n{rows}"))


@pytest.mark.parametrize(
    ("header", "rows", "kind", "gold", "options"),
    [
        ("question,answer_1,answer_2", ["Who {n}?,Ada {n},Bob {n}"], "open_ended", "answer_1", ()),
        ("question,answer_1,answer_2,gold", ["Who?,Ada,Bob,2", "Who?,Ada,Bob,1"], *("multiple_choice", "gold", (1, 2))),
        ("text,a,b,label", ["T {n},{n},0.{n},x", "T {n},{n},0.{n},y"], "classification", "label", ()),
        ("text,a,b,c,label", ["T,x,y,z,C", "T,x,y,z,A"], "multiple_choice", "label", (1, 2, 3)),
        ("text,b,c,d,label", ["T {n},x,y,z,C", "T {n},x,y,z,A"], "classification", "label", ()),
    ],
)
def test_columns_are_options_where_the_gold_label_can_be_one_of_them(
    tmp_path: Path, header: str, rows: list[str], kind: str, gold: str, options: tuple[int, ...]
) -> None:
    text = "".join(rows[n % len(rows)].format(n=n) + "\n" for n in range(8))
    found = columns_of(written(tmp_path, f"{header}\n{text}"))
    assert (found.kind, found.gold_label) == (kind, gold)
    assert found.options == tuple(header.split(",")[place] for place in options)


@pytest.mark.parametrize(
    ("header", "gold", "passed"),
    [
        ("id,question,answer,difficulty", "answer", True),
        ("id,question,answer,category", "answer", True),
        ("id,question,reference,source", "reference", True),
        ("id,question,answer,label", "label", False),
    ],
)
def test_answers_are_not_passed_over_for_a_column_beside_them(
    tmp_path: Path, header: str, gold: str, *, passed: bool
) -> None:
    rows = "".join(f"q{n},What is {n}?,answer {n} is long,{'ab'[n % 2]}\n" for n in range(20))
    found = columns_of(written(tmp_path, f"{header}\n{rows}"))
    assert (found.gold_label, found.kind) == (gold, "open_ended" if passed else "classification")
    side = header.rsplit(",", maxsplit=1)[-1]
    assert [f"; column '{side}' holds a few labels and is passed over; --labels" in note for note in found.notes] == (
        [True] if passed else []
    )


def test_the_named_text_is_no_gold_label(tmp_path: Path) -> None:
    rows = "".join(f"Is {n} even?,{('yes', 'no')[n % 2]},{('ok', 'bad')[n % 2]}\n" for n in range(8))
    found = columns_of(written(tmp_path, f"question,answer,grade\n{rows}"), (), (), NamedColumns(input="answer"))
    assert (found.input, found.gold_label) == ("answer", "grade")


def test_labels_that_differ_in_case_and_names_that_steer_a_terminal_are_written_out(tmp_path: Path) -> None:
    found = columns_of(written(tmp_path, "id,te\x1b[31mxt,spam\n1,x,Yes\n2,y,yes\n3,z,NO\n4,u,Yes\n5,v,NO\n6,w,NO\n"))
    assert found.notes == ("labels 'Yes' and 'yes' differ in case alone and stay apart: write one of them in the data",)
    assert found.sentence == "6 rows; input 'te\\x1b[31mxt', gold label 'spam', id 'id'; labels: Yes, yes, NO"


@pytest.mark.parametrize(
    ("text", "gold", "references"),
    [
        ("question,answer\nWho?,Ada\nWhere?,Oslo\n", "answer", ("Ada", "Oslo")),
        ("question,reference\nWho?,Ada\nWhere?,Oslo\n", "reference", ("Ada", "Oslo")),
        ("question\nWho?\nWhere?\n", None, ()),
    ],
)
def test_without_a_few_labels_questions_are_open(
    tmp_path: Path, text: str, gold: str | None, references: tuple[str, ...]
) -> None:
    found = columns_of(written(tmp_path, text))
    assert (found.kind, found.gold_label, found.references, found.labels) == ("open_ended", gold, references, ())
    assert "--labels yes,no or --gold COLUMN asks for labels" in found.notes[-1]


def test_labels_may_be_given_where_there_is_no_gold(tmp_path: Path) -> None:
    path = written(tmp_path, "text\none\ntwo\nthree\n")
    found = columns_of(path, ["yes", "no"])
    assert (found.gold_label, found.labels) == (None, ("yes", "no"))
    with pytest.raises(
        UsageError,
        match=r"mine\.csv: no column holds a few labels, of 'text'; name them: --labels yes,no, or the column: --gold",
    ):
        columns_of(path, (), (), NamedColumns(kind="classification"))


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


def test_a_column_of_the_labels_themselves_comes_before_one_that_they_stand_for(tmp_path: Path) -> None:
    rows = "".join(f"what they said {n},{['no', 'yes'][n % 2]},{['TRUE', 'FALSE'][n % 3 == 0]}\n" for n in range(12))
    found = columns_of(written(tmp_path, f"said,moved,verified\n{rows}"), ["yes", "no"])
    assert (found.gold_label, found.gold_labels) == ("moved", {})
