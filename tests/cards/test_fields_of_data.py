"""Which rule a field of extraction gets from its column, and which fields a prompt's JSON has."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from promptaudit.cards.fields_of_data import columns_of_fields, fields_asked_for, rule_of
from promptaudit.registry.errors import UsageError
from tests.support.shell import promptaudit

ROWS = "id,text,Total,date,currency,vendor\n" + "".join(
    f'{n},Invoice {n} of a longer text,"1,{n}00.50",2024-03-0{n},{"EUR" if n % 2 else "USD"},Maker {n}\n'
    for n in range(1, 9)
)


def invoices(folder: Path) -> Path:
    path = folder / "invoices.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (["1", "2.5", "1,000.00 EUR"], {"rule": "number"}),
        (["1", None, " "], {"rule": "number"}),
        (["007", "8"], {"rule": "exact"}),  # a zero begins a code
        (["3 Mobile", "4 Mobile"], {"rule": "exact"}),
        (["2024-03-05", "5 March 2024"], {"rule": "date"}),
        (["20240305", "20240306"], {"rule": "date"}),
        (["20240305", "20241306"], {"rule": "number"}),
        (["2024-03-05", "03/04/2024"], {"rule": "exact"}),  # which may be two days
        (["yes", "no", "Yes", "no", "no", "YES"], {"rule": "one_of", "values": ["yes", "no"]}),
        (["a", "b", "c", "a", "b", "c"], {"rule": "exact"}),
        (["a text of some eight words or so", "another text of some seven words"], {"rule": "token_f1"}),
        ([None, ""], {"rule": "exact"}),
        (["[1, 2]", "[]", '["3 kg"]', ""], {"rule": "number", "list": True}),
        (['["a", "b"]', '["b"]'], {"rule": "exact", "list": True}),
        (['["a", "b", "A", "b", "a", "b"]'], {"rule": "one_of", "values": ["a", "b"], "list": True}),
        (["[draft]", '["a"]'], {"rule": "exact"}),
    ],
)
def test_a_rule_is_what_all_values_are(values: list[str | None], rule: dict[str, object]) -> None:
    assert rule_of(pl.Series(values, dtype=pl.String)) == rule


def test_fields_are_columns_in_any_case(tmp_path: Path) -> None:
    found = columns_of_fields(invoices(tmp_path), ["total", "date", "currency"])
    assert (found.id, found.input, found.labels, found.n_rows) == ("id", "text", (), 8)
    assert found.sentence == (
        "8 rows; input 'text', id 'id'; fields: total (number, of column 'Total'), date (date), currency (one of EUR, USD)"
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["totl"], r"--fields: no column is called 'totl'; nearest: Total"),
        (["all_fields"], r"--fields: no column is called 'all_fields'"),
        (["id", "text", "Total", "date", "currency", "vendor"], r"no column is left for the text"),
    ],
)
def test_what_cannot_be_fields_is_told(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        columns_of_fields(invoices(tmp_path), names)


@pytest.mark.parametrize(
    ("prompt", "fields"),
    [
        ('Extract it. Respond in JSON: {"Total": 1.5, "DATE": "2024-01-01", "note": ""}', ("Total", "DATE")),
        ('Return {"invoice": {"total": 1, "currency": "EUR"}}', ("total", "currency")),
        ("Reply in JSON with the keys date and vendor. Look at the currency.", ("date", "vendor")),
        ('Respond in JSON: {"total": 1, "date": "", "maker": {"vendor": "", "currency": ""}}', ("total", "date")),
        ('Respond in JSON: {"total": <n>, "date": <day>, "maker": {"vendor": <name>}}', ("total", "date")),
        ('Respond in JSON: {"a": {"total": <n>, "date": <day>}, "vendor": ["name"]}', ("total", "date")),
        ('Respond in JSON: {"total": [1], "date": "", "vendor": ""}', ("date", "vendor")),
        ('Respond in JSON: {"total": 1.5}', ()),  # one alone may be that of the label
        ("What are date and vendor?", ()),
        ('Respond in JSON: {"id": 1, "text": "x", "total": 2}', ()),
    ],
)
def test_a_prompts_json_has_fields(tmp_path: Path, prompt: str, fields: tuple[str, ...]) -> None:
    assert fields_asked_for(invoices(tmp_path), (("user", prompt),), ()) == fields


def test_what_a_person_should_know_of_columns_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    rows = ('"[1, 2]","[[1], {}]",{},03/04/2024', '[],[],"{""a"": 1}",13/04/2024')
    path.write_text("text,items,deep,maker,day\n" + "".join(f"x,{row}\n" for row in rows), encoding="utf-8")
    found = columns_of_fields(path, ["items", "deep", "maker", "day"])
    assert found.fields == {"items": {"rule": "number", "list": True}, "day": {"rule": "exact"}}
    assert "items (number, in lists), day (exact)" in found.sentence
    assert [note.split(":")[0] for note in found.notes] == [
        "no id, since no column has one for each row",
        "column 'deep' holds objects, or lists of such, which no rule compares",
        "column 'maker' holds objects, or lists of such, which no rule compares",
        "field 'day'",
    ]
    path.write_text(",".join(["text", *(f"c{n}" for n in range(60))]) + "\n" + ",".join(["x"] * 61), encoding="utf-8")
    with pytest.raises(UsageError, match=r"--fields: a task has 1 to 50 fields without objects, and these are 60$"):
        columns_of_fields(path, [f"c{n}" for n in range(60)])


def test_init_writes_a_card_of_fields(tmp_path: Path) -> None:
    invoices(tmp_path)
    done = promptaudit(tmp_path, "init", "--data", "invoices.csv", "--fields", "Total,currency")
    assert "fields: Total (number), currency (one of EUR, USD)" in done.out
    card = yaml.safe_load((tmp_path / "registry/tasks/mine.yml").read_text())["my_task"]
    assert card["fields"] == {"Total": "number", "currency": {"rule": "one_of", "values": ["EUR", "USD"]}}
    assert card["instruction"] == "Extract the Total and currency from the text."
    assert card["output_format"] == "Reply with a JSON object with the fields Total and currency, and nothing else."
    assert "reader" not in card
    audit = yaml.safe_load((tmp_path / "registry/audits/mine.yml").read_text())["mine"]
    assert (audit["models"], audit["strategies"]) == (["swayed", "unmoved"], ["simple"])
    assert promptaudit(tmp_path, "validate", "mine").code == 0


def test_init_recognises_the_fields_of_a_prompt_unless_labels_are_named(tmp_path: Path) -> None:
    invoices(tmp_path)
    asked = 'Read the invoice. Respond in JSON: {"Total": 1.5, "currency": "EUR"}'
    said = promptaudit(tmp_path, "init", "one", "--data", "invoices.csv", "--instruction", asked).out
    assert "the fields are those of the JSON that the prompt asks for" in said
    assert "the instruction asks for JSON; nothing is added to it (`output_format` in tasks/mine.yml would)" in said
    as_labels = ("--instruction", asked, "--labels", "EUR,USD")
    said = promptaudit(tmp_path, "init", "two", "--data", "invoices.csv", *as_labels).out
    assert "gold label 'currency'" in said
    both = promptaudit(tmp_path, "init", "three", "--data", "invoices.csv", "--fields", "Total", "--labels", "a")
    assert both.code == 2
    assert both.one_line() == "UsageError: --labels and --fields: a task has labels or fields, so give one of the two"
