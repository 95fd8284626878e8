"""Traces the figures that the command names and, on request, derives them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from promptaudit.evidence.trace.gather import Trace, trace
from promptaudit.evidence.trace.recompute import agrees, recompute
from promptaudit.system.display.policy import policy_of
from promptaudit.warehouse import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class RecomputedTrace(Trace):
    """A trace with the value that its figure has when it is derived again from the listed rows alone."""

    recomputed: Any
    agrees: bool


def trace_figures(
    warehouse: Warehouse,
    figures: Sequence[str],
    text: str | None,
    *,
    with_lineage: bool,
    with_recompute: bool,
    most_prompts: int | None = None,
    say: Callable[[str], None],
) -> Sequence[Trace]:
    """Traces each figure. With `with_recompute`, one build derives all again, each from its own listed rows."""
    policy = policy_of(text)
    traces = [
        trace(warehouse, figure, policy, with_lineage=with_lineage, most_prompts=most_prompts) for figure in figures
    ]
    if not with_recompute:
        return traces
    say("deriving again from the listed rows alone")
    values = recompute(warehouse, traces)
    return [_recomputed(each, value) for each, value in zip(traces, values, strict=True)]


def _recomputed(one: Trace, value: object) -> RecomputedTrace:
    parts = {part.name: getattr(one, part.name) for part in fields(one)}
    return RecomputedTrace(**parts, recomputed=value, agrees=agrees(one.value, value))
