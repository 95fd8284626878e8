"""Where the reader made the figures, that is said before them: which answers it did not read, and which reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.query.diagnosis.readings import read_differently
from promptaudit.report.plain import opening
from promptaudit.report.summary import summary_of
from promptaudit.report.summary_unread import UnreadAnswers, unread_answers
from promptaudit.report.terminal.closing import closing_lines, first_lines
from promptaudit.system.display.policy import Texts
from promptaudit.warehouse import Row, Warehouse
from tests.support.shell import promptaudit, sql

LABELS = ["true", "false"]


def row(model: str, answer: str, n: int, label: str | None = None) -> Row:
    of = {"task_id": "t", "model_id": model, "strategy": "simple", "labels": LABELS, "reader": '"label_in_text"'}
    read = {"answer": answer, "label": label, "gold_label": None, "is_unread": label is None}
    return {**of, **read, "n": n, "n_unread": 7, "n_answers": 17}


def test_groups_of_which_most_answers_are_unread_are_named() -> None:
    rows = [
        row("a", "true", 8, "true"),
        row("a", "True.", 2),
        row("b", "True.", 4),
        row("b", "false", 2, "false"),
        row("b", "hm", 1),
    ]
    (found,) = unread_answers(rows, "run", Texts())
    assert found.groups == {("b", "t", "simple")}
    assert found.sentence == (
        "task 't': 7 of 17 answers could not be read; `reader: label` in its task card would read 6 of them: 'True.' as true"
    )
    (recorded,) = unread_answers(rows, "import", Texts())
    assert recorded.sentence.endswith("; `--reader label` would read 6 of them: 'True.' as true")


def test_an_import_takes_a_reader_with_its_argument() -> None:
    (found,) = unread_answers([row("a", '{"verdict": "true", "not": "false"}', 3)], "import", Texts())
    assert "`--reader json_field=verdict` would read 3" in found.sentence


@pytest.mark.parametrize("rows", [[], [row("a", "hm", 3)], [row("a", "true", 3, "true")]])
def test_nothing_is_said_where_no_reader_would_read_more(rows: list[Row]) -> None:
    assert unread_answers(rows, "run", Texts()) == ()


def test_readers_that_read_other_labels_are_told_with_examples() -> None:
    said = ["It is not true.", "It may seem false, but the answer is true."]
    rows = [row("a", "true", 50, "true"), row("a", said[0], 3, "true"), row("a", said[1], 4, "false")]
    regex = [{**each, "reader": '{"regex": "(true|false)"}'} for each in rows]
    (sentence,) = read_differently(regex, Texts())
    assert (
        "7 of 57 answers that were compared have another label by the reader `label_in_text` than by its own"
        in sentence
    )
    assert f"'{said[0]}' is true or denied; '{said[1]}' is false or true" in sentence
    (hidden,) = read_differently(regex, Texts(sensitive=frozenset({"t"})))
    assert "not true" not in hidden
    assert hidden.endswith("which all figures are of")
    field = [{**each, "reader": '{"json_field": "verdict"}'} for each in rows]
    assert read_differently(field, Texts()) == ()
    assert read_differently([{**row("a", "true", 1000, "true"), "reader": '"exact"'}, *regex[1:2]], Texts()) == ()


def test_answers_to_a_sensitive_task_are_not_quoted() -> None:
    (found,) = unread_answers([row("a", "True.", 3)], "run", Texts(sensitive=frozenset({"t"})))
    assert found.sentence.endswith("would read 3 of them")


def test_a_hostile_name_is_safe_to_print() -> None:
    rows = [{**row("a", "True", 1), "task_id": "\x1b[31m" + "t" * 99}]
    (found,) = unread_answers(rows, "run", Texts())
    assert isinstance(found, UnreadAnswers)
    assert found.sentence.isprintable()


@pytest.mark.slow
def test_an_import_says_first_what_another_reader_would_read(tmp_path: Path) -> None:
    """Read by the letter, gold "true" against "True" printed "worst: micro-F1 0.000" and no word of the reader."""
    lines = "".join(f"m,s{n},{said},{said.lower()}\n" for n, said in enumerate(["True", "False"] * 6))
    (tmp_path / "answers.csv").write_text(f"model,sample_id,completion,gold_label\n{lines}")
    exact = promptaudit(tmp_path, "import", "answers.csv", "--reader", "exact", "--audit", "exact")
    assert exact.code == 0, exact.err
    read = "'False' as false; 'True' as true"
    wanted = f"task 'answers': 12 of 12 answers could not be read; `--reader label` would read 12 of them: {read}"
    assert " ".join(exact.out.split()).count(f"unread {wanted}") == 2
    assert exact.out.startswith("unread ")
    assert "worst" not in exact.out
    (run,) = sql(tmp_path, "select audit_run_id, micro_f1 from marts.rpt_audit")
    assert run["micro_f1"] == 0
    summary = summary_of(Warehouse(tmp_path / "warehouse" / "audit.duckdb"), run["audit_run_id"])
    assert opening(summary)[0] == f"Not read: {wanted}."
    assert first_lines(summary, 200) == closing_lines(summary, 200)[:1]
    page = (tmp_path / "warehouse" / "published" / "report.html").read_text(encoding="utf-8")
    assert page.index("could not be read") < page.index("What changed")
