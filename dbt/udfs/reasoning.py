"""Parts a completion into the reasoning block that a model shows first, and the answer after it."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPENING = re.compile(r"<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSING = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


class Parted(NamedTuple):
    """A completion in two parts."""

    reasoning: str | None  # without its tags; None where the completion shows none
    answer: str


def parted(completion: str) -> Parted:
    """Returns the closed reasoning blocks at the head of a completion, and what follows them.

    A block is what stands between `<think>` and `</think>`, or the same with `thinking`, `thought` or `reasoning`, in upper or
    lower case. A chat template may have written the opening tag itself: then all that stands before the first closing tag is
    the block. A block that is not closed, and one after the answer has begun, are part of the answer.
    """
    if "</" not in completion:
        return Parted(None, completion)
    blocks, rest = [], completion
    while (opening := _OPENING.match(rest.lstrip())) is not None:
        before, closed, after = _cut(rest, re.compile(f"</{opening[1]}>", re.IGNORECASE))
        if not closed:
            break
        blocks.append(before.lstrip()[opening.end() :])
        rest = after
    if not blocks:
        before, closed, after = _cut(rest, _CLOSING)
        if closed and _OPENING.search(before) is None:
            blocks, rest = [before], after
    return Parted("\n".join(block.strip() for block in blocks), rest) if blocks else Parted(None, completion)


def _cut(text: str, tag: re.Pattern[str]) -> tuple[str, bool, str]:
    """The text before the first tag, whether there is one, and the text after it."""
    found = tag.search(text)
    return (text, False, "") if found is None else (text[: found.start()], True, text[found.end() :])
