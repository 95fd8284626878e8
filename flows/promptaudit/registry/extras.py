"""Lists the extras of the package, and writes the line about an extra that is not installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from promptaudit.registry.errors import UsageError

MODULES = {
    "charts": "vl_convert",
    "datasets": "datasets",
    "lake": "duckdb_extension_ducklake",
    "lineage": "openlineage.client",
    "local": "xllamacpp",
    "math": "math_verify",
    "s3": "s3fs",
    "xlsx": "openpyxl",
}
"""Maps each extra to a module that no other part of the installation brings."""
COMPARED_AS_FORMULAS = ("math_equal", "math_boxed")
"""Scoring methods that need `math`."""


def is_installed(extra: str) -> bool:
    """Checks whether the packages of an extra are installed.

    A folder of that name in the current folder does not count.
    """
    try:
        found = importlib.util.find_spec(MODULES[extra])
    except ModuleNotFoundError:
        return False
    return found is not None and found.origin is not None


def needs_extra(what: str, extra: str) -> str:
    """Writes the line that says what needs an extra, and the command that installs it."""
    return f"{what} needs the extra `{extra}`: python -m pip install 'promptaudit[{extra}]'"


def refused_scoring(methods: Iterable[str]) -> UsageError | None:
    """Makes the error for scoring methods if one of them needs an extra that is not installed; None otherwise."""
    needing = next((method for method in methods if method in COMPARED_AS_FORMULAS), None)
    return None if needing is None or is_installed("math") else UsageError(needs_extra(needing, "math"))
