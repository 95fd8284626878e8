"""Which JSON object of an answer is read: past fences and prose, and none out of what is no JSON."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.readers.json_object import TWICE, object_with, values_of
from promptaudit.udfs.readers.reading import read_answer

NAMES = ("total", "date")
VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=9),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ('{"total": "5"}', "5"),
        ('```json\n{"total": "5"}\n```', "5"),
        ('Sure! Here it is:\n\n{"total": "5", "other": [1, {"x": 2}]}\nAnything else?', "5"),
        ('The fields {total} and {date} are: {"total": "5"}', "5"),
        ('{"note": "none"} {"total": "5"}', "5"),
        ('The {5" pipe} costs {"total": "5"}', "5"),
        ('{"total": "5"} {"total": "6"}', "5"),
        ('{"invoice": {"total": "5"}, "sum": {"total": "6"}}', "5"),
        ('{"items": [{"total": "1"}], "total": "5"}', "5"),
        ('[{"total": "5"}, {"total": "6"}]', "5"),
        ('{"text": "say {\\"total\\": 1}", "total": "5"}', "5"),
        ('{"total": "1\n2\t3"}', "1\n2\t3"),
        ('{"note": "two\r\nlines {",\n"total": "5\x00"}', "5\x00"),
        ('{"total": 5.0}', "5.0"),
        ('{"total": 1e3}', "1e3"),
        ('{"total": 1234.50}', "1234.50"),
        ('{"total": 12345678901234567890123}', "12345678901234567890123"),
        (f'{{"total": {"9" * 6000}}}', "9" * 6000),
        ('{"total": null}', None),
        ('{"total": "5", "total": "5"}', "5"),
        ('{"total": "5", "total": "6"}', TWICE),
        ('{"total": "5", "total": "6", "total": "5"}', TWICE),
        ('{"date": ""}', None),
    ],
)
def test_the_first_object_with_any_of_the_fields_is_read(text: str, total: object) -> None:
    found = object_with(text, NAMES)
    assert found is not None
    assert found.get("total") == total


@pytest.mark.parametrize(
    "text",
    [
        "",
        "total: 5",
        "{}",
        '{"Total": 5}',
        '{"total": 5,}',
        '{"total": 5, "items": [{"total": 1}],}',  # nothing is read out of an object that is no JSON
        "{'total': 5}",
        "{total: 5}",
        '{"total": NaN}',
        '{"total": -Infinity}',
        '{"total": 5',
        '{"total": 5, "items": [{"total": 1}]',  # cut off
        '{"total": 05}',
        '{"a": "{\\"total\\": 5}"}',
        '"total"',
        '{"total"}',
        '{"a": ' * 40 + '{"total": 5}' + "}" * 40,
    ],
)
def test_what_is_no_such_object_is_none(text: str) -> None:
    assert object_with(text, NAMES) is None


@given(
    st.dictionaries(st.sampled_from([*NAMES, "other"]), VALUES, min_size=1),
    st.text(alphabet="ab \n`'.:[]()", max_size=30),
)
def test_an_object_is_found_in_prose(fields: dict[str, object], prose: str) -> None:
    found = object_with(f"{prose}{json.dumps(fields)}{prose}", NAMES)
    if fields.keys().isdisjoint(NAMES):
        assert found is None or found != fields
    else:
        assert found == fields


@given(st.text(alphabet='{}[]":,\\ total5', max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    object_with(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '{"a":"' * 150_000,
        '{"total":[' * 100_000,
        '{"x":1} ' * 125_000,
        '"{' * 500_000,
        '{x "' + '\\"' * 500_000,
        "{ " * 500_000,
        '{"total": "' + "x" * 1_000_000,
        '{"total": "' + "\n" * 1_000_000,
        '{"other": "\n"} ' * 60_000,
        '{"other": "\n",} ' * 60_000,
    ],
)
def test_a_hostile_text_takes_no_time(text: str) -> None:
    started = time.process_time()
    assert object_with(text, NAMES) is None
    assert time.process_time() - started < 3


def test_an_answer_is_valid_where_it_has_any_field() -> None:
    reader = json.dumps({"fields": {"total": {"rule": "number"}, "date": {"rule": "date"}}})
    read = read_answer('<think>{"total": 1}</think>```json\n{"date": "?"}\n```', reader, [])
    assert (read.is_read, read.label, read.is_blank, read.is_refusal) == (True, None, False, False)
    assert not read_answer('<think>{"total": 1}', reader, []).is_read
    assert not read_answer("no idea", reader, []).is_read
    assert read_answer(" ", reader, []).is_blank
    refused = read_answer("I cannot help with {this}", reader, [], "(?i)i cannot")
    assert (refused.is_read, refused.is_refusal) == (False, True)
    assert read_answer('I cannot be sure: {"total": 1}', reader, [], "(?i)i cannot").is_read


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("""{"note": 1} and then {'label': 'yes',}""", ["yes"]),
        ("""{"note": "label: no"} and then {'label': 'yes'}""", ["yes"]),
        ("""{"note": {"label": "no"}}, "label": """, []),
        ("""{"label": "no"} rather {'label': 'yes'}""", ["no"]),
        ("""{"label": null} rather {'label': 'yes'}""", []),
    ],
)
def test_an_object_without_the_field_hides_no_later_one(text: str, values: list[str]) -> None:
    found = values_of(text, "label")
    assert [held.value for held in found] == values
    assert all(str(held.value) in text[held.start : held.end] for held in found)
