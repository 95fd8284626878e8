"""The signs of labels in a grid's cells: colour alone tells nobody apart who sees few colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

MOST_SIGN = 3  # characters
N_LETTERS = 26


def signs_of(labels: Sequence[str]) -> list[str]:
    """Returns a sign of at most three characters for each label, no two alike.

    Short labels are their own signs; others have their initials, their first two letters where initials coincide, or
    A, B, C by their places.
    """
    ways: tuple[Callable[[str], str], ...] = (
        lambda label: label if label.isprintable() and label.strip() == label else "",
        lambda label: _letters(label)[:1].upper(),
        lambda label: _letters(label)[:2].capitalize(),
    )
    for way in ways:
        signs = [way(label) for label in labels]
        if all(0 < len(sign) <= MOST_SIGN for sign in signs) and len(set(signs)) == len(signs):
            return signs
    return [_by_place(place) for place in range(len(labels))]


def _letters(label: str) -> str:
    return "".join(char for char in label if char.isascii() and char.isalnum())


def _by_place(place: int) -> str:
    """Returns a to Z, then AA, AB, as columns of a sheet are named."""
    sign = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, N_LETTERS)
        sign = chr(ord("A") + letter) + sign
    return sign
