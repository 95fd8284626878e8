"""The extras of the package, and the line that tells of one that is not installed."""

from __future__ import annotations

import importlib.util

MODULES = {
    "charts": "vl_convert",
    "datasets": "datasets",
    "lake": "duckdb_extension_ducklake",
    "lineage": "openlineage.client",
    "local": "xllamacpp",
    "math": "math_verify",
    "s3": "s3fs",
}
"""By extra, a module that it alone brings."""


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
