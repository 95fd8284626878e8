"""What the command does: figures traced, and derived again where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.tree import Tree

from flows.display.policy import policy_of
from flows.evidence.trace.gather import Trace, trace
from flows.evidence.trace.recompute import agrees, recompute
from flows.evidence.trace.tree import tree_of
from flows.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Traced:
    """A trace, and what its figure is when it is derived again; `agrees` is None where it was not."""

    trace: Trace
    recomputed: Any = None
    agrees: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        again = {} if self.agrees is None else {"recomputed": self.recomputed, "agrees": self.agrees}
        return self.trace.as_dict() | again

    def tree(self) -> Tree:
        """For people."""
        tree = tree_of(self.trace)
        if self.agrees is not None:
            said = "the same" if self.agrees else "NOT the same"
            tree.add(f"derived again from the listed rows alone: {self.recomputed!r}, {said}")
        return tree


def trace_figures(  # noqa: PLR0913 - options of a command
    warehouse: Warehouse,
    figures: Sequence[str],
    text: str | None,
    *,
    with_lineage: bool,
    with_recompute: bool,
    say: Callable[[str], None],
) -> list[Traced]:
    """Each figure followed; with `with_recompute` all derived again in one build, each from its own listed rows."""
    policy = policy_of(text)
    found = [trace(warehouse, figure, policy, with_lineage=with_lineage) for figure in figures]
    if not with_recompute:
        return [Traced(each) for each in found]
    say("deriving again from the listed rows alone")
    values = recompute(warehouse, found)
    return [Traced(each, value, agrees(each.value, value)) for each, value in zip(found, values, strict=True)]
