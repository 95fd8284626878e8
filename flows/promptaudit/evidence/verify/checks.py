"""One list of what is verified: each thing has the digests recorded of it and a reader, and one walk names what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from promptaudit.registry.errors import PromptauditError

Kind = Literal["changed", "gone", "added", "unsealed", "broken"]
"""`changed`, `gone`, `added`: a row that is not what, or where, a seal has it; `unsealed`: it is in no seal yet; `broken`: the
evidence itself: a seal, a list of digests, a file."""
MOST = 100  # findings of a kind in a table and copy; the rest is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference: where (file or copy), in what (table, seal, figure), which row or place, and what of it."""

    kind: Kind
    where: str
    what: str
    which: str = ""
    detail: str = ""
    audit_run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A thing that is verified: where it lies, the digests recorded of it, and the function that reads the one it has now.

    It is as it should be where `read` gives one of `recorded`, or None (it is not there) and none is recorded; by default it
    never is. Otherwise `explain` gives the findings in it, or checks of its parts; without `explain` the thing itself is the
    finding, of the given `kind` or of what became of it.
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
        """A check of something in the same place, with its own digests and readers."""
        plain: dict[str, Any] = {"recorded": (), "read": object, "explain": None}
        return replace(self, **(plain | changes))

    def found(self, kind: Kind, which: str | None = None, detail: str | None = None) -> Finding:
        """A finding in this thing."""
        return Finding(
            kind=kind,
            where=self.where,
            what=self.what,
            which=self.which if which is None else which,
            detail=self.detail if detail is None else detail,
            audit_run_id=self.audit_run_id,
        )

    def unread(self, error: Exception) -> Finding:
        """The finding that it cannot be read; what others wrote into their errors is not printed."""
        why = str(error) if isinstance(error, PromptauditError) else type(error).__name__
        return self.found("broken", detail=f"it cannot be read: {why}")

    def differing(self) -> list[Finding | Check]:
        """What differs in it, where its digest does."""
        now = self.read()
        if now in self.recorded or (now is None and not self.recorded):
            return []
        if self.explain is not None:
            return list(self.explain(self))
        return [self.found(self.kind or ("gone" if now is None else "changed" if self.recorded else "added"))]


def walk(checks: Iterable[Check | Finding]) -> Iterator[Finding]:
    """Looks at one thing after the other; whatever its reader raises is a finding of that thing, and the others follow."""
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
    """Keeps 99 findings of a kind in a table and place, and counts the rest in one more; up to 100 stay as they are."""
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
