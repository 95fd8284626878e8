"""What a check finds, and how a row is named without printing what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from flows.display.figures import cut, shown

Kind = Literal["changed", "gone", "added", "unsealed", "broken"]
"""`changed`, `gone`, `added`: a row that is not what, or where, a seal has it; `unsealed`: it is in no seal yet; `broken`: the
evidence itself: a seal, a list of digests, a file."""
MOST = 100  # of a table and copy; the rest is counted
_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: where (file or copy), in what (table, seal, figure), which row or place, and what of it."""

    kind: Kind
    where: str
    what: str
    which: str = ""
    detail: str = ""
    audit_run_id: str | None = None

    def line(self) -> str:
        """For people; names are made visible, texts never printed."""
        which = f" {self.which}" if self.which else ""
        detail = f": {self.detail}" if self.detail else ""
        return shown(f"{self.kind}: {self.what}{which} in {self.where}{detail}")

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)


def named(row: Mapping[str, Any], key: Sequence[str]) -> str:
    """A row by its key, without its run: `model_id=lexical, strategy=simple`."""
    parts = [f"{name}={cut(str(row[name]), _WIDTH)}" for name in key if name != "audit_run_id"]
    return ", ".join(parts) or f"audit_run_id={row['audit_run_id']}"


def few(found: list[Finding]) -> list[Finding]:
    """The first of a table's findings, and a line that counts the rest."""
    if len(found) <= MOST:
        return found
    last = found[MOST - 1]
    rest = len(found) - MOST + 1
    return [
        *found[: MOST - 1],
        Finding(last.kind, last.where, last.what, "", f"and {rest} rows more", last.audit_run_id),
    ]
