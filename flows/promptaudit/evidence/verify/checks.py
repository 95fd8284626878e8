"""Defines a check: the digests recorded of a thing, and a reader of its digest of today.

`walk` runs checks and yields what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from promptaudit.registry.errors import PromptauditError
from promptaudit.system.display.figures import shown

Kind = Literal["changed", "gone", "added", "unsealed", "broken"]
"""`changed`, `gone` and `added` mean a row that differs from its seal, is missing, or was added without a seal.

`unsealed` means that no seal has it yet. `broken` means damaged evidence: a seal, a list of digests, a file.
"""
MOST = 100  # findings of a kind in a table and copy; the rest is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference that a check found.

    `where` is a file or copy, `what` a table, seal or figure, `which` the row or place in it, and `detail` says what
    differs.
    """

    kind: Kind
    where: str
    what: str
    which: str = ""
    detail: str = ""
    audit_run_id: str | None = None
    is_blank: bool = False  # of a row that is as an erasure leaves it

    @property
    def line(self) -> str:
        """Writes it in one line. Control characters are escaped, and texts are never printed."""
        which = f" {self.which}" if self.which else ""
        detail = f": {self.detail}" if self.detail else ""
        return shown(f"{self.kind}: {self.what}{which} in {self.where}{detail}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A thing that is verified: where it lies, the digests recorded of it, and the function that reads its digest.

    The thing is in order if `read` gives one of `recorded`, or gives None (it is not there) and none is recorded. The
    default `read` never finds it in order. If the thing is not in order, `explain` gives the findings in it, or checks
    of its parts. Without `explain` the thing itself is the finding, of the given `kind`, or else `gone`, `changed` or
    `added`.
    """

    where: str
    what: str
    which: str = ""
    detail: str = ""
    audit_run_id: str | None = None
    kind: Kind | None = None
    recorded: Collection[object] = ()
    read: Callable[[], object] = object
    explain: Callable[[Check], Iterable[Finding | Check]] | None = None

    def part(self, **changes: Any) -> Check:  # noqa: ANN401 - values of any field
        """Makes a check of something in the same place, with its own digests and readers."""
        plain: dict[str, Any] = {"recorded": (), "read": object, "explain": None}
        return replace(self, **(plain | changes))

    def found(self, kind: Kind, which: str | None = None, detail: str | None = None) -> Finding:
        """Makes a finding about this thing."""
        return Finding(
            kind=kind,
            where=self.where,
            what=self.what,
            which=self.which if which is None else which,
            detail=self.detail if detail is None else detail,
            audit_run_id=self.audit_run_id,
        )

    def unread(self, error: Exception) -> Finding:
        """Makes the finding that this thing cannot be read. Of an error that is not ours only the type is printed."""
        why = str(error) if isinstance(error, PromptauditError) else type(error).__name__
        return self.found("broken", detail=f"it cannot be read: {why}")

    def differing(self) -> list[Finding | Check]:
        """Lists what differs in this thing: nothing if its digest is a recorded one."""
        now = self.read()
        if now in self.recorded or (now is None and not self.recorded):
            return []
        if self.explain is not None:
            return list(self.explain(self))
        return [self.found(self.kind or ("gone" if now is None else "changed" if self.recorded else "added"))]


def walk(checks: Iterable[Check | Finding]) -> Iterator[Finding]:
    """Runs the checks one after the other and yields their findings.

    If a reader raises, that is a finding about its thing, and the other checks follow.
    """
    for each in checks:
        if isinstance(each, Finding):
            yield each
            continue
        try:
            parts = each.differing()
        except Exception as error:  # noqa: BLE001 - a broken file raises what its library likes
            parts = [each.unread(error)]
        yield from walk(parts)


def few(findings: Iterable[Finding]) -> list[Finding]:
    """Keeps up to 100 findings of a kind in a table and place. Of more it keeps 99, and one more counts the rest."""
    findings = list(findings)
    of = [(each.kind, each.where, each.what, each.audit_run_id) for each in findings]
    n, seen, kept = Counter(of), Counter[object](), []
    for each, group in zip(findings, of, strict=True):
        seen[group] += 1
        if seen[group] < MOST or n[group] == MOST:
            kept.append(each)
        elif seen[group] == MOST:
            kept.append(replace(each, which="", detail=f"and {n[group] - MOST + 1:,} more"))
    return kept
