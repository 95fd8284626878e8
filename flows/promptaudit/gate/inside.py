"""Pairs up the models or strategies of a run for rules that compare them with one of its own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from promptaudit.gate.source import Group, Parts
from promptaudit.gate.value_rules import NAMES, selects
from promptaudit.registry.gate_rules import INSIDE, Rule, SameRule, VerdictRule, part_of


def pairs_inside(rule: Rule, groups: Sequence[Group]) -> list[Parts]:
    """Lists what a rule compares with the part of the run that it names, which comes first in each pair.

    `groups` is what the run asked. Empty for a rule about another run, and where the run has no such part or no other.
    """
    if not isinstance(rule, VerdictRule | SameRule) or not rule.reference.startswith(INSIDE):
        return []
    model, strategy = part_of(rule.reference.removeprefix(INSIDE), {group[0] for group in groups})
    named = [condition for condition in rule.conditions if condition.column in NAMES]
    parts = {(None if model is None else group[0], None if strategy is None else group[2]) for group in groups}
    if (model, strategy) not in parts:
        return []
    wanted = {
        (None if model is None else group[0], None if strategy is None else group[2])
        for group in groups
        if all(selects(each, dict(zip(NAMES, group, strict=True))) for each in named)
    }
    return [Parts(model, strategy, *part) for part in sorted(wanted - {(model, strategy)})]


def command_of(run: str, parts: Parts) -> str:
    """Writes the command that compares two parts of a run."""
    base = _name(run, parts.base_model_id, parts.base_strategy)
    return f"promptaudit compare {base} {_name(run, parts.candidate_model_id, parts.candidate_strategy)}"


def _name(run: str, model: str | None, strategy: str | None) -> str:
    return shlex.quote(f"{run}:{model or ''}{'' if strategy is None else f':{strategy}'}")
