"""Splits a completion into the reasoning that a model shows first, and the answer after it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import NamedTuple

from promptaudit.udfs.spelling import UNSEEN
from promptaudit.udfs.sql_function import sql_function

_NAMES = (
    "think|thinks|thinking|thought|thoughts|thought_process|reasoning|reason|reflection|scratchpad|analysis|rationale|"
    "antthinking|inner_monologue|chain_of_thought|cot"
)
_TAG = rf"(?:\w{{1,20}}:)?(?!no_)(?:\w{{1,20}}_)?(?:{_NAMES})"
_ATTRIBUTES = r"(?:\s+[\w:-]{1,40}\s*=[^<>]{0,200}(?<!/))?\s*"
_ANALYSIS = r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<]{0,100}<\|message\|>"
_FINAL = r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final[^<]{0,100}<\|message\|>"
_MARKERS = {  # what begins a block, and what ends it
    rf"<(?P<name>{_TAG}){_ATTRIBUTES}>": "</NAME>",
    r"\[(?P<bracketed>think|thinking|reasoning)\]": r"\[/NAME\]",  # Magistral
    "\u25c1think\u25b7": "\u25c1/think\u25b7",  # Kimi
    r"<\|(?:begin|start)_of_(?P<part>thought|thinking|reasoning)\|>": r"<\|end_of_NAME\|>",  # OpenThinker
    r"<\|start_thinking\|>": r"<\|end_thinking\|>",  # Command A
    "<unused94>(?:thought)?": "<unused95>",  # MedGemma
    _ANALYSIS: _FINAL,  # gpt-oss
    "(?-i:analysis(?=[A-Z]))": "(?-i:assistantfinal)",  # gpt-oss, its special tokens left out
}
_OPENINGS = [f"(?P<m{n}>{opening})" for n, opening in enumerate(_MARKERS)]
_OPENING = re.compile("|".join(_OPENINGS), re.IGNORECASE)
_SURE_OPENINGS = [each for each in _OPENINGS[:-1] if "bracketed" not in each]  # a line may begin with [Reasoning]
_OPENING_OF_LINE = re.compile(rf"^[ \t]*(?:{'|'.join(_SURE_OPENINGS)})", re.IGNORECASE | re.MULTILINE)
_TEMPLATE = rf"[\s{UNSEEN}]|<s>|<bos>|<start_of_turn>|<[|\uff5c][^<>]{{1,40}}[|\uff5c]>|(?:assistant|model)\b[:\uff1a]?"
# An opening tag behind the text that a chat template writes before an answer.
_OPENING_OF_TEXT = re.compile(rf"(?:{_TEMPLATE})*?(?:{'|'.join(_OPENINGS)})", re.IGNORECASE)
_OTHER_CLOSINGS = [closing.replace("NAME", _TAG) for closing in _MARKERS.values() if "assistantfinal" not in closing]
_CLOSING = re.compile("|".join(_OTHER_CLOSINGS), re.IGNORECASE)
_TAG_OR_CLOSING = re.compile(
    "|".join([rf"<(?P<end>/?)(?P<name>{_TAG}){_ATTRIBUTES}>", *_OTHER_CLOSINGS[1:]]), re.IGNORECASE
)
_CLOSINGS = tuple(_MARKERS.values())
_SIGNS = re.compile("[<\\[\u25c1]|analysis")


class Parted(NamedTuple):
    """A completion in two parts."""

    reasoning: str | None  # without its tags; None where the completion shows none
    answer: str
    is_cut: bool = False  # whether the reasoning never ends: then the answer is the text before it, mostly nothing


@sql_function()
def shown_reasoning(completion: str | None) -> str | None:
    """Reads the reasoning block at the head of a completion; None where there is none.

    Example:
        >>> shown_reasoning("<think>Who wrote it?</think>person")
        'Who wrote it?'
    """
    return None if completion is None else parted(completion).reasoning


def parted(completion: str) -> Parted:
    """Splits a completion into the reasoning blocks at its head and the text after them.

    A block is the text between `<think>` and `</think>`, or the like of other models (`_MARKERS`), in upper or lower
    case. A chat template may have written the opening tag itself: then all text before the first closing tag is the
    block. Where an opening tag at the head or the beginning of a line is never closed, the rest of the text is
    reasoning: it was cut off. A block that ends after the answer has begun is part of the answer.
    """
    if _SIGNS.search(completion) is None:
        return Parted(None, completion)
    blocks: list[str] = []
    place, missing = 0, set[re.Pattern[str]]()
    while (opening := _OPENING_OF_TEXT.match(completion, place)) is not None:
        own = _closing_of(opening)
        closed = None if own in missing else own.search(completion, opening.end())
        if closed is None:
            missing.add(own)  # nor further on, so a text of many tags is searched once
            closed = _closing_of_another_name(completion, opening.end())
        if closed is None:
            return Parted(_joined([*blocks, completion[opening.end() :]]), "", is_cut=True)
        blocks.append(completion[opening.end() : closed.start()])
        place = closed.end()
    if not blocks:
        closed = _CLOSING.search(completion)
        if closed is not None and _OPENING.search(completion, 0, closed.start()) is None:
            blocks.append(completion[: closed.start()])
            place = closed.end()
    return _before_cut(completion, place, blocks)


def _before_cut(completion: str, place: int, blocks: list[str]) -> Parted:
    # an opening tag that nothing closes ends the answer
    closed = place
    for each in _CLOSING.finditer(completion, place):
        closed = each.end()
    opening = _OPENING_OF_LINE.search(completion, closed)
    if opening is None:
        return Parted(_joined(blocks) if blocks else None, completion[place:])
    reasoning = _joined([*blocks, completion[opening.end() :]])
    return Parted(reasoning, completion[place : opening.start()], is_cut=True)


def _closing_of_another_name(text: str, place: int) -> re.Match[str] | None:
    # the first closing tag that closes nothing opened behind the place: models confuse the names of tags
    n_open = Counter[str]()
    for tag in _TAG_OR_CLOSING.finditer(text, place):
        name = tag["name"]
        if name is None or (tag["end"] and not n_open[name.lower()]):
            return tag
        n_open[name.lower()] += -1 if tag["end"] else 1
    return None


def _closing_of(opening: re.Match[str]) -> re.Pattern[str]:
    closing = next(_CLOSINGS[n] for n in range(len(_CLOSINGS)) if opening[f"m{n}"] is not None)
    name = opening["name"] or opening["bracketed"] or opening["part"] or ""
    return _compiled(closing.replace("NAME", re.escape(name.lower())))


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _joined(blocks: list[str]) -> str:
    return "\n".join(block.strip() for block in blocks)
