"""Checks whether the expectations of an audit's own suite can be tested on the summary of formats.

Great Expectations ships a JSON Schema of each of its expectations, which is read without its import of seconds: what it
takes, what it needs, and whether it works on data frames.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.registry.errors import CardError, nearest
from promptaudit.registry.expectation_suites import SUMMARY_COLUMNS, Expectation

NOT_TAKEN: Mapping[str, str] = {
    **dict.fromkeys(("row_condition", "condition_parser"), "no condition is evaluated"),
    **dict.fromkeys(
        ("result_format", "catch_exceptions", "batch_id", "windows", "library_metadata"), "the run sets it"
    ),
    **dict.fromkeys(
        ("id", "meta", "notes", "description", "rendered_content", "severity", "metadata"), "it is no argument"
    ),
}
"""Arguments of every expectation that a suite of a card may not have."""
UNFIT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "expect_column_values_to_match_regex",
            "expect_column_values_to_match_regex_list",
            "expect_column_values_to_not_match_regex",
            "expect_column_values_to_not_match_regex_list",
        ),
        "a pattern of somebody's may take for ever; say the values with expect_column_values_to_be_in_set",
    ),
    # of GX 1.24: its result holds numpy's booleans
    "expect_column_quantile_values_to_be_between": "Great Expectations cannot write down its result on a data frame",
}
"""Expectations on data frames that are not taken, and why."""
LATER = "$PARAMETER"
"""The key of a value that Great Expectations would put in later, and calculate, for as long as that takes."""
LONGEST = 400  # characters of a fault in a message
_COLUMNS = ("column", "column_A", "column_B", "column_list", "column_set")


def check_expectations(cards: AuditCards) -> Errors:
    """Yields an error for each fault of the expectations in an audit's own suite."""
    suite = cards.audit.format.suite
    if suite is None:
        return
    where = cards.where("audits", cards.audit_id, "format", "expectations")
    for index, expectation in enumerate(suite.expectations):
        for fault in _faults(expectation):
            shown = fault if len(fault) <= LONGEST else f"{fault[:LONGEST]} …"
            yield CardError(f"{where}: {suite.place(index)}: {shown}")


def _faults(expectation: Expectation) -> Iterator[str]:
    if expectation.type in UNFIT:
        yield f"'{expectation.type}' is not taken: {UNFIT[expectation.type]}"
        return
    known = known_expectations()
    if expectation.type not in known:
        yield f"'{expectation.type}' is no expectation of Great Expectations on data frames{nearest(expectation.type, known)}"
        return
    schema = _schema_of(known[expectation.type])
    of_kwargs = list(_faults_of_kwargs(expectation, schema))
    yield from of_kwargs or _faults_of_columns(expectation)


def _faults_of_kwargs(expectation: Expectation, schema: Mapping[str, Any]) -> Iterator[str]:
    from jsonschema import Draft7Validator

    takes, given = schema["properties"], expectation.kwargs
    unknown = [name for name in given if name not in takes]
    for name in unknown:
        why = (
            f"is not taken: {NOT_TAKEN[name]}"
            if name in NOT_TAKEN
            else f"is none of its arguments{nearest(name, takes)}"
        )
        yield f"{expectation.type}: '{name}' {why}"
    if unknown:
        return
    if _is_put_in_later(given):
        yield f"{expectation.type}: '{LATER}' is not taken: nothing is put in later; write the value"
        return
    for name in schema.get("required", ()):
        if name not in given:
            yield f"{expectation.type} needs the argument '{name}'"
    is_range = {"min_value", "max_value"} <= takes.keys() and "threshold" not in takes
    if is_range and not given.keys() & {"min_value", "max_value"}:
        yield f"{expectation.type} needs the argument 'min_value' or 'max_value'"
    for error in Draft7Validator(schema).iter_errors({name: given[name] for name in given.keys() & takes.keys()}):
        if error.path:
            yield f"{expectation.type}: {'.'.join(map(str, error.path))}: {error.message}"


def _is_put_in_later(value: object) -> bool:
    if isinstance(value, dict):
        return LATER in value or any(map(_is_put_in_later, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_put_in_later, value))


def _faults_of_columns(expectation: Expectation) -> Iterator[str]:
    for argument in _COLUMNS:
        value: Any = expectation.kwargs.get(argument, [])
        for column in value if isinstance(value, list) else [value]:
            if column not in SUMMARY_COLUMNS:
                yield f"{expectation.type}: the summary has no column '{column}'{nearest(str(column), SUMMARY_COLUMNS)}"


@functools.cache
def known_expectations() -> dict[str, Path]:
    """Maps each expectation that a suite may have to its schema file. Raises CardError where there are none."""
    package = importlib.util.find_spec("great_expectations")
    folders = [] if package is None else package.submodule_search_locations or []
    known = {}
    for path in (path for folder in folders for path in Path(folder).glob("expectations/core/schemas/Expect*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))["properties"]["metadata"]["properties"]
        if "Pandas" in about["supported_data_sources"]["const"]:
            known[about["expectation_type"]["const"]] = path
    if not known:
        msg = "the installed Great Expectations has no schemas of its expectations"
        raise CardError(msg)
    return {name: known[name] for name in sorted(known.keys() - UNFIT.keys())}


def _schema_of(path: Path) -> dict[str, Any]:
    whole = json.loads(path.read_text(encoding="utf-8"))
    properties = {name: _plain(each) for name, each in whole["properties"].items() if name not in NOT_TAKEN}
    return {
        "properties": properties,
        "required": whole.get("required", []),
        "definitions": whole.get("definitions", {}),
    }


def _plain(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    # parameters that are put in later are left out, and dates, which no column of the summary holds
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _plain(part) for name, part in schema.items() if name not in ("anyOf", "multipleOf")}
    forms = [_plain(form) for form in schema.get("anyOf", ()) if form != {"type": "object"} and "format" not in form]
    if len(forms) == 1:
        return made | forms[0]
    return made | {"anyOf": forms} if forms else made
