"""Fills `{name}` placeholders in one pass.

Text that is filled in is never read again, and every other brace is text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def placeholders(template: str) -> tuple[str, ...]:
    """Lists the names used in a template, in their order, with repeats."""
    return tuple(_PLACEHOLDER.findall(template))


def substitute(template: str, values: Mapping[str, str]) -> str:
    """Fills in each `{name}` that `values` has; unknown names stay text."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def renamed(template: str, names: Mapping[str, str]) -> str:
    """Renames each placeholder that `names` has; every other brace is text."""
    return substitute(template, {name: f"{{{other}}}" for name, other in names.items()})
