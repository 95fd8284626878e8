"""The extras of the package, and the line that tells of one that is not installed."""

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
"""By extra, a module that it alone brings."""
COMPARED_AS_FORMULAS = ("math_equal", "math_boxed")
"""Scoring methods that need `math`."""


def is_installed(extra: str) -> bool:
    """Returns whether the packages of an extra are installed; a folder of their name in the current one is no package."""
    try:
        found = importlib.util.find_spec(MODULES[extra])
    except ModuleNotFoundError:
        return False
    return found is not None and found.origin is not None


def needs_extra(what: str, extra: str) -> str:
    """Returns the line that says what needs an extra, and the command that installs it."""
    return f"{what} needs the extra `{extra}`: python -m pip install 'promptaudit[{extra}]'"


def refused_scoring(methods: Iterable[str]) -> UsageError | None:
    """Returns the error of scoring methods of which one needs an extra that is not installed."""
    needing = next((method for method in methods if method in COMPARED_AS_FORMULAS), None)
    return None if needing is None or is_installed("math") else UsageError(needs_extra(needing, "math"))
