"""Says for each table what a row of it is and which keys identify it. The tables to begin with come first."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
COLUMNS = ("name", "grain", "keys")


def asks_for_tables(query: str) -> bool:
    """Checks whether a query is DuckDB's `show tables` and nothing else."""
    return _SHOW_TABLES.fullmatch(query) is not None


def described(names: Iterable[str]) -> list[tuple[str, str | None, str | None]]:
    """Lists tables with grain and keys, NULL for what is no mart: first the ones to begin with, then others by name."""
    from promptaudit.warehouse.figure_names import begin_with, descriptions, grains

    first = {name: place for place, name in enumerate(begin_with())}
    rows = []
    for name in sorted(names, key=lambda name: (first.get(name, len(first)), name)):
        grain = re.split(r"(?<=\.)\s", descriptions().get(name, ""), maxsplit=1)[0]
        rows.append((name, grain or None, ", ".join(grains().get(name, ())) or None))
    return rows
