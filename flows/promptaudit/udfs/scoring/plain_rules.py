"""Applies plain rules to open answers: it equals, contains or matches a reference, or is the same number."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import re2

from promptaudit.udfs.readers.reading import MAX_READ_CHARACTERS
from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.numbers import number
from promptaudit.udfs.spelling import canonical, folded
from promptaudit.udfs.sql_function import sql_function

PlainRule = Literal["exact", "contains", "regex", "number"]


class RuleReading(NamedTuple):
    """Whether an answer is right by a rule; where that is unknown (None), the reason."""

    is_right: bool | None
    reason: str | None = None


@sql_function()
def plain_rule(rule: PlainRule, completion: str, references: Sequence[str]) -> RuleReading:
    """Decides whether an answer, without a reasoning block before it, is right by one of the references.

    - `exact`: it is the reference but for white space around it.
    - `contains`: the reference stands in it, whatever its case.
    - `regex`: the reference is an RE2 pattern that is found in it.
    - `number`: both are the same number as `udfs.scoring.numbers.number` reads it; `no number` where the answer is
      none.

    The reason is `no reference` where every reference is blank, or for `regex` no valid pattern.

    Example:
        >>> plain_rule("contains", "It is the River Nile.", ["nile"]).is_right
        True
    """
    answer = parted(completion).answer.strip()[:MAX_READ_CHARACTERS]
    given = [reference.strip() for reference in references if reference.strip()]
    if rule == "regex":
        patterns = [pattern for pattern in map(_pattern, given) if pattern is not None]
        return _reading([pattern.search(answer) is not None for pattern in patterns])
    if rule == "contains":
        within = folded(answer)
        return _reading([folded(reference) in within for reference in given])
    if rule == "exact":
        return _reading([canonical(reference) == canonical(answer) for reference in given])
    said = number(answer.rstrip("."))
    if said is None:
        return RuleReading(None, "no number")
    return _reading([value == said for value in map(number, given) if value is not None])


def _reading(matches: Sequence[bool]) -> RuleReading:
    return RuleReading(any(matches)) if matches else RuleReading(None, "no reference")


@functools.lru_cache(maxsize=4096)
def _pattern(text: str) -> Any | None:  # noqa: ANN401 - re2 has no stubs
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error:
        return None
