"""Finds the queries that ship in the dbt project's analyses, as they are asked of the published copy."""

from __future__ import annotations

import re
from pathlib import Path

from promptaudit.models_registry.errors import UsageError, nearest
from promptaudit.models_registry.mart_columns import dbt_project

_REF = re.compile(r"\{\{\s*ref\('(\w+)'\)\s*\}\}")
_COMMENT = re.compile(r"(?:--[^\n]*\n)*")


def analyses() -> dict[str, str]:
    """Returns the first sentence of what each analysis begins with, by name, in the order of the names."""
    return {path.stem: _first_sentence(path.read_text(encoding="utf-8")) for path in sorted(_folder().glob("*.sql"))}


def analysis(name: str) -> str:
    """Returns the SQL of one analysis, its tables named as the published copy names them; raises UsageError of another name."""
    known = analyses()
    if name not in known:
        msg = f"no analysis is called '{name}'{nearest(name, known)}; --list shows all"
        raise UsageError(msg)
    return _REF.sub(r"marts.\1", (_folder() / f"{name}.sql").read_text(encoding="utf-8"))


def _folder() -> Path:
    return dbt_project() / "analyses"


def _first_sentence(sql: str) -> str:
    comment = _COMMENT.match(sql)
    lines = comment[0].splitlines() if comment else []
    text = " ".join(line.removeprefix("--").strip() for line in lines)
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
