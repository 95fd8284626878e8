"""Checks that the code that an audit's cards name exists, and lists it. None of it is run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.cards.trust.refuse import code_in
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import CardError
from promptaudit.registry.own_code import problem_of
from promptaudit.registry.registry import Entry


def check_code(cards: AuditCards) -> Errors:
    """Checks that every function and command that cards name exists."""
    for code, uses in code_in(cards.used).items():
        problem = problem_of(code)
        if problem is not None:
            for use in uses:
                yield CardError(f"{use.where}: {use.card} names {code}: {problem}")
    for name, entry in cards.used["rephrasers"].items():
        if isinstance(entry.card, RephraserCard) and entry.card.environment:
            yield from _refused_variables(name, entry, entry.card.environment)


def _refused_variables(name: str, entry: Entry, variables: Sequence[str]) -> Errors:
    from promptaudit.system.helper_processes import is_given

    for index, variable in enumerate(variables):
        if not is_given(variable, os.environ.get(variable, "")):
            where = entry.where(name, "environment", index)
            yield CardError(
                f"{where}: {variable} is not given to a command: it may hold a key, or say what Python imports"
            )


def named_code(cards: AuditCards) -> list[str]:
    """Lists which cards name which code, for the person who checks cards."""
    return [f"{use.where}: {use.card} names {code}" for code, uses in code_in(cards.used).items() for use in uses]
