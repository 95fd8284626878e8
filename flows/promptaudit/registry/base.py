"""Defines the base of every card: frozen, every field described, unknown keys refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Rate = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]

FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*")
"""A function, `module:function`."""
FunctionName = Annotated[str, Field(max_length=200, pattern=f"^{FUNCTION.pattern}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CODE_SHA256 = (
    "sha256 of the file of the code that the card names, filled in when the card is loaded; where the card has "
    "one, code with another sha256 is refused"
)


def listed(value: object) -> object:
    """Wraps a single name in a list; gives anything else back unchanged."""
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[Name, ...], BeforeValidator(listed, json_schema_input_type=Name | tuple[Name, ...])]
_SomeNames = Annotated[tuple[Name, ...], Field(min_length=1)]
SomeNames = Annotated[_SomeNames, BeforeValidator(listed, json_schema_input_type=Name | _SomeNames)]


class Faults(ValueError):
    """The rules between fields of a card that are broken, one message each."""

    def __init__(self, messages: Sequence[str]) -> None:
        super().__init__("; ".join(messages))
        self.messages = tuple(messages)


class Card(BaseModel):
    """The base of every card."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, str_max_length=100_000, defer_build=True
    )

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken; nothing for a sound card."""
        yield from ()

    @model_validator(mode="after")
    def _is_faultless(self) -> Self:
        messages = tuple(self.faults())
        if messages:
            raise Faults(messages)
        return self

    def canonical_json(self) -> str:
        """Writes the card as one line of JSON: set fields only, keys sorted, so that equal cards give equal text."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), sort_keys=True, ensure_ascii=False)

    def fingerprint(self) -> str:
        """Hashes `canonical_json` with sha256 and gives the first 16 hex digits."""
        return hashlib.sha256(self.canonical_json().encode("utf-8", "backslashreplace")).hexdigest()[:16]
