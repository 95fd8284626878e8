"""What differs from a seal, and how a row is named without printing what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from promptaudit.system.display.figures import cut

Kind = Literal["changed", "gone", "added", "unsealed", "broken"]
"""`changed`, `gone`, `added`: a row that is not what, or where, a seal has it; `unsealed`: it is in no seal yet; `broken`: the
evidence itself: a seal, a list of digests, a file."""
MOST = 100  # of a table and copy; the rest is counted
_WIDTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SealDifference:
    """One difference: where (file or copy), in what (table, seal, figure), which row or place, and what of it."""

    kind: Kind
    where: str
    what: str
    which: str = ""
    detail: str = ""
    audit_run_id: str | None = None


def named(row: Mapping[str, Any], key: Sequence[str]) -> str:
    """Returns a row's name, its key without its run: `model_id=lexical, strategy=simple`."""
    parts = [f"{name}={cut(str(row[name]), _WIDTH)}" for name in key if name != "audit_run_id"]
    return ", ".join(parts) or f"audit_run_id={row['audit_run_id']}"


def few(differences: list[SealDifference]) -> list[SealDifference]:
    """Returns the first 99 of a table's differences and one that counts the rest; up to 100 as they are."""
    if len(differences) <= MOST:
        return differences
    rest = f"and {len(differences) - MOST + 1} rows more"
    return [*differences[: MOST - 1], replace(differences[MOST - 1], which="", detail=rest)]
