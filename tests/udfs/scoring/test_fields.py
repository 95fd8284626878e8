"""Fields of answers: what each rule reads as one value, and what is right."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.scoring.dates import iso_date
from promptaudit.udfs.scoring.fields import MAX_SHOWN_CHARACTERS, MAX_VALUE_CHARACTERS, canonical_value, read_fields
from promptaudit.udfs.scoring.numbers import number

RULES = {
    "total": {"rule": "number"},
    "day": {"rule": "date"},
    "currency": {"rule": "one_of", "values": ["EUR", "USD"]},
    "vendor": {"rule": "token_f1", "at_least": 0.6},
    "code": {"rule": "exact"},
}
READER = json.dumps({"fields": RULES})
GOLD = json.dumps(
    {"total": "1234.50", "day": "5 March 2024", "currency": "EUR", "vendor": "Acme Tools Ltd", "code": None}
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.50 EUR", "1234.5"),
        ("1234.5", "1234.5"),
        ("EUR 1,234.50", "1234.5"),
        ("USD1,234", "1234"),
        ("\u20ac1.234,50", "1234.5"),
        ("1234.5EUR", "1234.5"),
        ("1'234.50", "1234.5"),
        ("1 234,50", "1234.5"),
        ("1\u202f234,50 \u20ac", "1234.5"),
        ("12,5", "12.5"),
        ("1,234", "1234"),
        ("1.234", "1.234"),
        ("1.234.567", "1234567"),
        ("-5", "-5"),
        ("\u22125.00", "-5"),
        ("-$5", "-5"),
        ("-0.0", "0"),
        ("12 %", "12"),
        ("1e3", "1000"),
        ("1e-2", "0.01"),
        ("1/3", "1/3"),
        ("2 1/2", "2.5"),
        ("12 items", "12"),
        ("\u0661\u0662", "12"),
        ("0.10", "0.1"),
        ("007", "7"),
        ("five", None),
        ("NaN", None),
        ("Infinity", None),
        ("1,23,456.00", "123456"),
        ("\u20b95,00,000", "500000"),
        ("0,123", "0.123"),
        ("-0,500", "-0.5"),
        ("(1,234.50)", "-1234.5"),
        ("($5)", "-5"),
        ("US$ 5", "5"),
        ("R$ 1.234,56", "1234.56"),
        ("kr 500", "500"),
        ("500 kr", "500"),
        ("500 kr.", "500"),
        ("-500kr", "-500"),
        ("Rs. 500", "500"),
        ("eur 500", "500"),
        ("Euro 500", "500"),
        ("1.234,50 kr.", "1234.5"),
        ("500,- kr", "500"),
        ("\u20b9 500/-", "500"),
        ("CHF 12.50", "12.5"),
        ("12.50 Fr.", "12.5"),
        ("12 \u20ac", "12"),
        ("12 \u20ac/kg", "12"),
        ("12.50/hour", "12.5"),
        ("500 z\u0142", "500"),
        ("500\u5186", "500"),
        ("EUR 500 \u20ac", "500"),
        ("5 GB", "5"),
        ("20 m\u00b2", "20"),
        ("20 m2", "20"),
        ("21 \u00b0C", "21"),
        ("500 kr 20", None),
        ("kr 500-600", None),
        ("5 of 10", None),
        ("5 or more", None),
        ("5 m", None),
        ("5k", None),
        ("3rd", None),
        ("12A", None),
        ("3 XL", None),
        ("Total 500", None),
        ("minus 5", None),
        ("kr 5 million", None),
        ("5 tusen kr", None),
        ("5 million", None),
        ("5 Million Euro", None),
        ("1,5 Mio.", None),
        ("2 hundred items", None),
        ("$1.2M", None),
        ("5 Tsd. \u20ac", None),
        ("2 mkr", None),
        ("5 TEUR", None),
        ("$5MM", None),
        ("5 mm", "5"),
        ("2\u00bd cups", "2.5"),
        ("1st", None),
        ("8 pm", None),
        ("12 MAY", None),
        ("INV-12", None),
        ("EUR -5", "-5"),
        (",50", None),
        ("12,34,56", None),
        ("1234,567", None),
        ("x = 5", None),
        ("2024-03-05", None),
        ("EUR", None),
        ("1.2.3", None),
        ("--5", None),
        ("9" * 1001, None),
        ("1" * 1_000_000, None),
        ("0x1F", None),
        ("1_000", None),
    ],
)
def test_a_number_is_one_value_however_it_is_written(text: str, value: str | None) -> None:
    assert number(text) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12))
def test_every_decimal_is_read_exactly(value: Decimal) -> None:
    plain = format(value, "f")
    read = number(plain)
    assert read is not None
    assert Decimal(read) == value
    assert number(format(value, ",f")) == read
    assert number(f"{plain} USD") == read
    assert number(read) == read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-3-5T10:00:00Z", "2024-03-05"),
        ("2024-03-05 23:59", "2024-03-05"),
        ("2024/03/05", "2024-03-05"),
        ("2024.03.05", "2024-03-05"),
        ("20240305", "2024-03-05"),
        ("5 March 2024", "2024-03-05"),
        ("March 5th, 2024", "2024-03-05"),
        ("Tuesday, 5th of March 2024", "2024-03-05"),
        ("05-Mar-2024", "2024-03-05"),
        ("Sept. 3, 2021", "2021-09-03"),
        ("25/03/2024", "2024-03-25"),
        ("03/25/2024", "2024-03-25"),
        ("31.12.2024", "2024-12-31"),
        ("04/04/2025", "2025-04-04"),
        ("29 February 2024", "2024-02-29"),
        ("03/04/2025", None),
        ("3.4.2025", None),
        ("29 February 2023", None),
        ("2024-02-30", None),
        ("5 Mar 24", None),
        ("May 2024", None),
        ("2024", None),
        ("today", None),
        ("2024-03-05 or later", None),
        ("0000-01-01", None),
        ("5 Marsh 2024", None),
        ("\u0665 March 2024", None),
        ("5" * 200, None),
    ],
)
def test_a_date_is_read_where_it_can_be_one_day_alone(text: str, value: str | None) -> None:
    assert iso_date(text) == value


@given(st.dates())
def test_every_day_is_read_in_words(day: object) -> None:
    assert iso_date(f"{day:%d %B }{day.year:04}") == day.isoformat()  # type: ignore[attr-defined, str-format]


@pytest.mark.parametrize(
    ("rule", "text", "value"),
    [
        ("code", "  A-1\n", "A-1"),
        ("code", "a\u0303", "\u00e3"),
        ("code", "x" * (MAX_VALUE_CHARACTERS + 1), None),
        ("code", "\ud800", "?"),
        ("code", " ", ""),
        ("code", None, ""),
        ("currency", "eur", "EUR"),
        ("currency", " Usd ", "USD"),
        ("currency", "GBP", None),
        ("currency", "EUR or USD", None),
        ("vendor", "The Acme Tools, Ltd.", "acme tools ltd"),
        ("vendor", "?!", None),
        ("vendor", "nice \ud83d day", "nice day"),
    ],
)
def test_other_rules_have_one_value_too(rule: str, text: str | None, value: str | None) -> None:
    assert canonical_value(text, RULES[rule]) == value


def test_an_answer_is_read_field_by_field() -> None:
    completion = (
        '```json\n{"total": 1234.5, "day": "2024-03-05", "currency": "usd", "vendor": "ACME Tools", "code": null}\n```'
    )
    found = read_fields(completion, READER, GOLD)
    assert [each.field for each in found] == ["total", "day", "currency", "vendor", "code"]
    assert [each.value for each in found] == ["1234.5", "2024-03-05", "USD", "acme tools", ""]
    assert [each.gold_value for each in found] == ["1234.5", "2024-03-05", "EUR", "acme tools ltd", ""]
    assert [each.is_correct for each in found] == [True, True, False, True, True]
    assert [each.score for each in found] == [1, 1, 0, pytest.approx(2 * 2 / 5), 1]  # two of two and of three words


def test_a_number_of_json_is_what_is_written() -> None:
    code = read_fields('{"code": 1.0}', READER, '{"code": "1.0"}')[-1]
    assert (code.raw_value, code.value, code.is_correct) == ("1.0", "1.0", True)


def test_names_of_fields_are_compared_composed() -> None:
    reader = '{"fields": {"nu\u0301mero": {"rule": "number"}}}'
    (found,) = read_fields('{"n\u00famero": 5}', reader, '{"nu\u0301mero": "5"}')
    assert (found.field, found.value, found.is_correct) == ("nu\u0301mero", "5", True)


def test_what_cannot_be_read_is_never_right() -> None:
    reader = '{"fields": {"vendor": {"rule": "token_f1", "at_least": 0.0}}}'
    assert [each.is_correct for each in read_fields("no idea", reader, GOLD)] == [False]


def test_what_is_no_single_value_is_shown_and_never_right() -> None:
    found = read_fields(
        '{"total": [1234.5], "day": {"y": 2024}, "currency": true, "vendor": "", "code": "x"}', READER, GOLD
    )
    assert [each.raw_value for each in found] == ['["1234.5"]', '{"y": "2024"}', "true", "", "x"]
    assert [each.value for each in found] == [None, None, None, "", "x"]
    assert not any(each.is_correct for each in found)
    twice = read_fields('{"code": "a", "code": "b"}', READER, GOLD)[-1]
    assert (twice.raw_value, twice.value, twice.is_correct) == (None, None, False)


LISTED = {name: {**rule, "list": True} for name, rule in RULES.items()}


@pytest.mark.parametrize(
    ("rule", "said", "value"),
    [
        ("total", ["1,234.50 EUR", "2", "kr 3"], '["1234.5", "2", "3"]'),
        ("total", '["1", 2.50]', '["1", "2.5"]'),  # a cell of a CSV, or a text in an answer
        ("total", "5", '["5"]'),
        ("total", ["5", "five"], None),
        ("total", ["5", None], '["5", ""]'),
        ("total", [], ""),
        ("total", "[]", ""),
        ("total", None, ""),
        ("total", " ", ""),
        ("total", ["1"] * 1001, None),
        ("day", ["5 March 2024"], '["2024-03-05"]'),
        ("currency", ["eur", "Usd"], '["EUR", "USD"]'),
        ("currency", ["eur", ["usd"]], None),
        ("currency", [{"a": "eur"}], None),
        ("code", "[draft]", '["[draft]"]'),
        ("code", "[" * 100_000, None),
        ("code", ["a\u0303", True], '["\u00e3", "true"]'),
    ],
)
def test_a_list_is_its_values_in_their_order(rule: str, said: object, value: str | None) -> None:
    assert canonical_value(said, LISTED[rule]) == value


@pytest.mark.parametrize(
    ("said", "gold", "score"),
    [
        ('["Acme Tools", "Blue Sky"]', '["ACME Tools Ltd", "blue sky"]', 2 * 2 / 5),  # two of two and of three words
        ('["Blue Sky", "Acme Tools Ltd"]', '["Acme Tools Ltd", "Blue Sky"]', 0),
        ('["Acme Tools Ltd"]', '["Acme Tools Ltd", "Blue Sky"]', 0),
        ('"Acme Tools Ltd"', '["Acme Tools Ltd"]', 1),
        ("[]", '""', 1),
        ("[]", '["Acme"]', 0),
    ],
)
def test_a_list_is_as_right_as_its_worst_item(said: str, gold: str, score: float) -> None:
    reader = json.dumps({"fields": {"vendor": LISTED["vendor"], "code": LISTED["code"]}})
    answer, right = (f'{{"vendor": {text}, "code": {text}}}' for text in (said, gold))
    vendor, code = read_fields(answer, reader, right)
    assert vendor.score == pytest.approx(score)
    assert vendor.is_correct == (score >= 0.6)
    assert code.is_correct == (score == 1)


def test_without_an_object_there_are_no_values_and_without_gold_nothing_is_right() -> None:
    assert {(each.value, each.raw_value, each.is_correct) for each in read_fields(None, READER, GOLD)} == {
        (None, None, False)
    }
    assert {each.value for each in read_fields("none", READER, GOLD)} == {None}
    (total, *_) = read_fields('{"total": 5}', READER, None)
    assert (total.value, total.gold_value, total.score, total.is_correct) == ("5", None, None, None)
    for gold in ("no JSON", "[]", '{"day": null}', '{"total": [5]}'):
        assert read_fields('{"total": 5}', READER, gold)[0].gold_value is None
    assert read_fields('{"total": 5}', READER, '{"total": 5.0}')[0].is_correct


def test_long_and_broken_texts_are_cut_and_storable() -> None:
    code = read_fields(json.dumps({"code": "x" * 20_000}), READER, GOLD)[-1]
    assert (len(code.raw_value or ""), code.value) == (MAX_SHOWN_CHARACTERS, None)
    code = read_fields('{"code": "\\ud800"}', READER, GOLD)[-1]
    assert (code.raw_value, code.value) == ("?", "?")
