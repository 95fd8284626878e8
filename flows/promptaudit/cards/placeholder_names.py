"""Renames the placeholders of a user's prompt, `{column}` or `{{column}}`, to the names that cards have for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from promptaudit.cards.read_prompt import ChatPrompt
from promptaudit.cards.task_of_data import DataColumns
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.placeholders import placeholders

INPUT = "input"
OF_CARDS = ("instruction", "output_format", "labels")
"""Placeholders that a card fills itself, beside the text of the sample."""
_BRACES = re.compile(r"\{\{([^{}\n]{1,200})\}\}|\{([^{}\n]{1,200})\}")
_ESCAPED = re.compile(r"\{\{|\}\}|\{([^{}\n]{1,200})\}")
_MEANT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\s*[|!].*)?")  # with a filter or a conversion of another templating
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def names_in_braces(prompt: ChatPrompt) -> frozenset[str]:
    """Collects what stands in single or double braces anywhere in a prompt, columns or not."""
    found = (match for _, text in prompt.messages for match in _BRACES.finditer(text))
    return frozenset((match[1] or match[2]).strip() for match in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceholderNames:
    """Maps each column that a prompt puts in to the name that its card has for it.

    `is_escaped` says that the prompt doubles its other braces, as Python's formatting wants.
    """

    of_cards: Mapping[str, str]
    is_escaped: bool

    def put(self, text: str) -> str:
        """Renames the placeholders of a text as cards do. Every other brace is text."""
        return (_ESCAPED if self.is_escaped else _BRACES).sub(self._braces, text)

    def _braces(self, match: re.Match[str]) -> str:
        name = next((group.strip() for group in match.groups() if group is not None), None)
        if name is None:
            return match[0][0]  # one of a doubled brace
        return f"{{{self.of_cards[name]}}}" if name in self.of_cards else match[0]

    @property
    def columns(self) -> dict[str, str]:
        """Makes `columns` of a card's data: the card's name to the column, where they differ."""
        return {name: column for column, name in self.of_cards.items() if name not in (column, INPUT)}


def names_of(prompt: ChatPrompt, columns: DataColumns) -> PlaceholderNames:
    """Names the columns of the data as the prompt's card does. {input} is the text where no column has this name.

    Raises UsageError where no placeholder stands for the text.
    """
    found = names_in_braces(prompt)
    of_cards: dict[str, str] = {}
    for name in columns.names:
        if name in found:
            taken = {*columns.names, *of_cards.values()}
            of_cards[name] = INPUT if name == columns.input else _free(name, taken)
    if INPUT in found and INPUT not in columns.names:
        of_cards[INPUT] = INPUT
    if INPUT not in of_cards.values():
        name = next((name for name in sorted(found) if _PLAIN.fullmatch(name)), "")
        shown = f"; found {{{name}}}" if name else ""
        msg = f"{prompt.file}: no placeholder in it is the column of the text{shown}{nearest(name, columns.names)}"
        raise UsageError(msg)
    return PlaceholderNames(of_cards=of_cards, is_escaped=_is_escaped([text for _, text in prompt.messages], of_cards))


def _free(column: str, taken: Collection[str]) -> str:
    # the column's own name where a card can put it in braces
    if _PLAIN.fullmatch(column) and column not in (INPUT, *OF_CARDS):
        return column
    name = "column_" + re.sub(r"[^A-Za-z0-9_]+", "_", column).strip("_")
    while name in taken:
        name += "_"
    return name


def _is_escaped(texts: Iterable[str], names: Collection[str]) -> bool:
    # as in Python's formatting every brace is a column's single one or doubled, and some are doubled
    n_doubled = 0
    for text in texts:
        if any(match[1] is not None and match[1].strip() in names for match in _BRACES.finditer(text)):
            return False
        fields = [match for match in _ESCAPED.finditer(text) if match[1] is not None]
        rest = _ESCAPED.sub("", text)
        if "{" in rest or "}" in rest or any(match[1] not in names for match in fields):
            return False
        n_doubled += text.count("{{")
    return n_doubled > 0


def unknown_names(prompt: ChatPrompt, texts: Iterable[str], names: PlaceholderNames) -> list[str]:
    """Lists what looks like a placeholder and is none.

    Raises UsageError for a name that cards fill themselves, in a text under the names of cards.
    """
    found = dict.fromkeys(name for text in texts for name in placeholders(text))
    own = next((name for name in OF_CARDS if name in found), None)
    if own is not None:
        msg = f"{prompt.file}: {{{own}}} is filled in by cards and is no column of the data; write what stands for it"
        raise UsageError(msg)
    meant = (name for name in sorted(names_in_braces(prompt)) if _MEANT.fullmatch(name) and name not in names.of_cards)
    return list(dict.fromkeys([*(name for name in found if name not in names.of_cards.values()), *meant]))
