"""`{name}` placeholders, put in once: what is put in is never read again, every other brace is text."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def placeholders(template: str) -> tuple[str, ...]:
    """Names used in a template, in order, repeats kept."""
    return tuple(_PLACEHOLDER.findall(template))


def substitute(template: str, values: Mapping[str, str]) -> str:
    """The template with each `{name}` that `values` has put in; unknown names stay text."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)
