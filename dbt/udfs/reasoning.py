"""Parts a completion into the reasoning that a model shows first, and the answer after it."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

_NAMES = (
    "think|thinks|thinking|thought|thoughts|thought_process|reasoning|reason|reflection|scratchpad|analysis|rationale|"
    "antthinking|inner_monologue|chain_of_thought|cot"
)
_TAG = rf"(?:\w{{1,20}}:)?(?:\w{{1,20}}_)?(?:{_NAMES})"
_ANALYSIS = r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<]{0,100}<\|message\|>"
_FINAL = r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final[^<]{0,100}<\|message\|>"
_MARKERS = {  # what begins a block, and what ends it
    rf"<(?P<name>{_TAG})(?:\s[^<>]{{0,200}})?>": "</NAME>",
    r"\[(?P<bracketed>think|thinking|reasoning)\]": r"\[/NAME\]",  # Magistral
    "\u25c1think\u25b7": "\u25c1/think\u25b7",  # Kimi
    r"<\|(?:begin|start)_of_(?P<part>thought|thinking|reasoning)\|>": r"<\|end_of_NAME\|>",  # OpenThinker
    r"<\|start_thinking\|>": r"<\|end_thinking\|>",  # Command A
    "<unused94>(?:thought)?": "<unused95>",  # MedGemma
    _ANALYSIS: _FINAL,  # gpt-oss
    "(?-i:analysis(?=[A-Z]))": "(?-i:assistantfinal)",  # gpt-oss, its special tokens left out
}
_OPENING = re.compile("|".join(f"(?P<m{n}>{opening})" for n, opening in enumerate(_MARKERS)), re.IGNORECASE)
_CLOSING = re.compile(
    "|".join(closing.replace("NAME", _TAG) for closing in _MARKERS.values() if "assistantfinal" not in closing),
    re.IGNORECASE,
)
_CLOSINGS = tuple(_MARKERS.values())
_SIGNS = re.compile("[<\\[\u25c1]|analysis")
_SPACE = re.compile(r"\s*")


class Parted(NamedTuple):
    """A completion in two parts."""

    reasoning: str | None  # without its tags; None where the completion shows none
    answer: str
    is_cut: bool = False  # whether the reasoning never ends: then there is no answer


def parted(completion: str) -> Parted:
    """Returns the reasoning blocks at the head of a completion, and what follows them.

    A block is what stands between `<think>` and `</think>`, or the like of other models (`_MARKERS`), in upper or lower case. A
    chat template may have written the opening tag itself: then all that stands before the first closing tag is the block. What
    follows an opening tag that nothing closes is reasoning to the end, and the answer is empty: it was cut off. A block after
    the answer has begun is part of the answer.
    """
    if _SIGNS.search(completion) is None:
        return Parted(None, completion)
    blocks: list[str] = []
    place, missing = 0, set[re.Pattern[str]]()
    while (opening := _opening_at(completion, place)) is not None:
        closings = (each for each in (_closing_of(opening), _CLOSING) if each not in missing)
        closed = None
        for closing in closings:  # a tag of another name ends it where that of its own is nowhere: models confuse them
            closed = closed or closing.search(completion, opening.end())
            if closed is None:
                missing.add(closing)  # nor further on, so a text of many tags is searched once
        if closed is None:
            return Parted(_joined([*blocks, completion[opening.end() :]]), "", is_cut=True)
        blocks.append(completion[opening.end() : closed.start()])
        place = closed.end()
    if blocks:
        return Parted(_joined(blocks), completion[place:])
    closed = _CLOSING.search(completion)
    if closed is None or _OPENING.search(completion, 0, closed.start()) is not None:
        return Parted(None, completion)
    return Parted(completion[: closed.start()].strip(), completion[closed.end() :])


def _opening_at(text: str, place: int) -> re.Match[str] | None:
    """Returns the opening tag that stands at a place, or behind white space there."""
    space = _SPACE.match(text, place)
    return _OPENING.match(text, space.end() if space else place)


def _closing_of(opening: re.Match[str]) -> re.Pattern[str]:
    """Returns what closes a block that begins so."""
    closing = next(_CLOSINGS[n] for n in range(len(_CLOSINGS)) if opening[f"m{n}"] is not None)
    name = opening["name"] or opening["bracketed"] or opening["part"] or ""
    return _compiled(closing.replace("NAME", re.escape(name.lower())))


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _joined(blocks: list[str]) -> str:
    return "\n".join(block.strip() for block in blocks)
