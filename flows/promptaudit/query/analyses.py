"""Finds the queries that ship in the dbt project's analyses, in the form that the published copy takes."""

from __future__ import annotations

import re
from pathlib import Path

from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.mart_columns import dbt_project

_REF = re.compile(r"\{\{\s*ref\('(\w+)'\)\s*\}\}")
_COMMENT = re.compile(r"(?:--[^\n]*\n)*")


def analyses() -> dict[str, str]:
    """Maps each analysis, group by group, to the first sentence of its leading comment."""
    return {path.stem: _first_sentence(path.read_text(encoding="utf-8")) for path in _files()}


def listing() -> str:
    """Lists the analyses as text, one a line under the name of its group."""
    known = analyses()
    width, group, lines = max(map(len, known)), "", []
    for path in _files():
        if path.parent.name != group:
            group = path.parent.name
            lines += ["", group.replace("_", " ")]
        lines.append(f"  {path.stem:<{width}}  {known[path.stem]}")
    return "\n".join(lines[1:])


def analysis(name: str) -> str:
    """Reads the SQL of an analysis, with tables named as in the published copy. Raises UsageError for another name."""
    files = {path.stem: path for path in _files()}
    if name not in files:
        msg = f"no analysis is called '{name}'{nearest(name, files)}; --list shows all"
        raise UsageError(msg)
    return _REF.sub(r"marts.\1", files[name].read_text(encoding="utf-8"))


def _files() -> list[Path]:
    # each folder is named for what its analyses are about
    return sorted((dbt_project() / "analyses").glob("*/*.sql"))


def _first_sentence(sql: str) -> str:
    comment = _COMMENT.match(sql)
    lines = comment[0].splitlines() if comment else []
    text = " ".join(line.removeprefix("--").strip() for line in lines)
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
