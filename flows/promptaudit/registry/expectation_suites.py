"""Reads the suites of Great Expectations that audit cards name: JSON from `suite.to_json_dict()`. It runs no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError

from promptaudit.registry.base import Card, Name, Sha256
from promptaudit.registry.errors import CardError, DataError, nearest
from promptaudit.registry.read_json import json_of
from promptaudit.registry.read_yaml import bounded

MOST = 200  # expectations of a suite
SUMMARY_COLUMNS: Mapping[str, str] = {
    "model_id": "the model",
    "prompt_variant_id": "the prompt variant",
    "task_id": "the task",
    "strategy": "the strategy",
    "variant_index": "the variant's number, 0 for the original",
    "n_missing": "planned cells without an answer or an error",
    "invalid_rate": "share of landed answers that are not valid",
    "empty_rate": "share of landed answers that are blank",
    "error_rate": "share of planned cells that ended in an error",
    "n_distinct_completions": "distinct completions",
    "n_outside_labels": "valid answers whose label is none of the task's",
}
"""The columns of the summary that formats are checked by. It has one row per model and prompt variant."""
KEPT = {"type", "kwargs", "severity", "notes", "description"}
DROPPED = {"id", "meta", "rendered_content"}
"""Fields that Great Expectations writes beside an expectation and that are not used here."""
QUOTE = '"'
MOST_SHOWN = 120  # of an expectation, in characters
AS_WRITTEN = "as `json.dumps(suite.to_json_dict())` of Great Expectations writes it"


class Expectation(Card):
    """One expectation of a suite."""

    type: Name = Field(description="its type, such as expect_column_values_to_be_between")
    kwargs: dict[Name, JsonValue] = Field(default_factory=dict, description="its arguments by name")
    severity: Literal["critical", "warning", "info"] = Field(
        "critical", description="what failing means: one that is not critical is told and keeps nothing out"
    )
    notes: str | tuple[str, ...] | None = Field(None, description="the author's notes")
    description: str | None = Field(None, description="the author's words for it")

    @property
    def call(self) -> str:
        """Writes the expectation as a call, such as `expect_column_max_to_be_between(column=empty_rate, max_value=0)`.

        Calls of more than 120 characters are cut off.
        """
        given = [f"{name}={json.dumps(value).strip(QUOTE)}" for name, value in self.kwargs.items()]
        text = f"{self.type}({', '.join(given)})"
        return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


class ExpectationSuite(Card):
    """A suite as its file holds it."""

    file: Name = Field(description="where it is in the registry folder")
    sha256: Sha256 = Field(description="of the file")
    expectations: tuple[Expectation, ...] = Field(min_length=1, max_length=MOST, description="its expectations")

    def place(self, index: int) -> str:
        """Says where an expectation stands in its file; index 0 is the first."""
        return f"{self.file} expectation {index + 1}"


def read_suite(root: Path, file: str) -> ExpectationSuite:
    """Reads the suite of a file in a registry folder.

    Raises CardError in one line if it cannot be read or is no suite.
    """
    path = (root / file).resolve()
    if not path.is_relative_to(root.resolve()):
        msg = f"{file} leaves the registry {root}"
        raise CardError(msg)
    raw = bounded(path, file)
    try:
        document = json_of(raw, file, keys_once=True)
    except DataError as error:
        raise CardError(str(error).partition(": ")[2]) from None
    found = document.get("expectations") if isinstance(document, dict) else None
    if not isinstance(found, list) or not found:
        msg = f"{file} is no suite: it is an object with a list of `expectations`, {AS_WRITTEN}"
        raise CardError(msg)
    if len(found) > MOST:
        msg = f"{file} has {len(found)} expectations; a suite of a card has {MOST} at most"
        raise CardError(msg)
    expectations = tuple(_expectation(f"{file} expectation {n}", each) for n, each in enumerate(found, start=1))
    return ExpectationSuite(file=file, sha256=hashlib.sha256(raw).hexdigest(), expectations=expectations)


def _expectation(where: str, found: Any) -> Expectation:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        msg = f"{where} is an object with `type` and `kwargs`, {AS_WRITTEN}"
        raise CardError(msg)
    fields = {name: value for name, value in found.items() if name not in DROPPED and value is not None}
    for name in fields:
        if name not in KEPT:
            msg = f"{where}: '{name}' is not taken{nearest(name, KEPT)}"
            raise CardError(msg)
    kwargs = fields.get("kwargs", {})
    if isinstance(kwargs, dict):
        fields["kwargs"] = {name: value for name, value in kwargs.items() if value is not None}
    try:
        return Expectation.model_validate(fields)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        msg = f"{where}: {field}: {first['msg']}"
        raise CardError(msg) from None
