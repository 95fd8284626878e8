"""Finds the part of a chat prompt that is reworded: its `instruction`.

What says who the model is ("You are a helpful assistant.") or how to answer is left as it is, and so are captions,
lists, examples in braces and the text of the sample. A candidate is what stands between them in the system text, or
else in the last user turn. Without one, the text that says who the model is may be reworded, and after that the text
that says how to answer. Where every sentence has an example in braces, the candidate is what a sentence says before it
comes to the form of the answer.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from promptaudit.cards.answer_format import ASK, asks_for_a_form, sentences
from promptaudit.prompts.messages import Messages
from promptaudit.registry.errors import UsageError
from promptaudit.registry.placeholders import placeholders

SYSTEM = ("system", "developer")
MOST_SHOWN, MOST_COMPARED = 120, 300
LONGEST_CAPTION, FEWEST_WORDS = 80, 3
_CAPTION = re.compile(
    r"\W*(?:<[^<>\n]*>|(?:\w+(?:[ \t]+\w+)?|here (?:is|are)\b[^\n]*)[ \t]*[:：]|#{1,6}\s[^\n]*)?\W*",  # noqa: RUF001
    re.IGNORECASE,
)
_OF_A_LIST = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s|[\"']\w+[\"']\s*:")
_BEGINS_AS_CAPTION = re.compile(r"\w+(?:[ \t]+\w+)?[ \t]*[:：]")  # noqa: RUF001
_OF_FURTHER_COLUMNS = re.compile(r"\{(?!input\})[A-Za-z_]\w*\}")
_BRACES = re.compile(r"[{}]")
_EXAMPLE = re.compile(r"\{(?!\w+\})")
_AND_ANSWER = re.compile(rf"[,;:.]?\s+(?:and|then|and then)\s+{ASK}\b", re.IGNORECASE)
_QUOTES = " \t\"'`([<“«"
_PERSONA = re.compile(r"(?:you are|you're|act as)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a prompt: its message, its start and its end."""

    message: int
    start: int
    end: int

    def of(self, messages: Messages) -> str:
        """Cuts the part's text out of the messages."""
        return messages[self.message][1][self.start : self.end]


def candidates(messages: Messages, labels: Sequence[str]) -> list[Part]:
    """Lists the parts that may be reworded. The first is the default where nobody chooses."""
    asked = [place for place, (role, _) in enumerate(messages) if role == "user"][-1:]
    system = [place for place, (role, _) in enumerate(messages) if role in SYSTEM]

    def is_form(text: str) -> bool:
        return asks_for_a_form(text, labels)

    for is_left in (lambda text: is_form(text) or _PERSONA.match(text) is not None, is_form, lambda _: False):
        parts = [part for place in (*system, *asked) for part in _runs(messages, place, is_left)]
        if parts:
            return parts
    return [part for place in (*system, *asked) for part in _runs(messages, place, lambda _: False, has_example=True)]


def _runs(
    messages: Messages, place: int, is_left: Callable[[str], bool], *, has_example: bool = False
) -> Iterator[Part]:
    # with `has_example`, only the beginnings of sentences that have one
    text = messages[place][1]
    run: list[tuple[int, int]] = []
    for start, end in sentences(text):
        n_reworded = _n_before_form(text[start:end]) if has_example else _n_reworded(text[start:end], is_left)
        if n_reworded:
            run.append((start, start + n_reworded))
        if run and n_reworded < end - start:
            yield _trimmed(text, place, run)
            run = []
    if run:
        yield _trimmed(text, place, run)


def _n_reworded(sentence: str, is_left: Callable[[str], bool]) -> int:
    # all characters, none, or what stands in front of the sample's text
    stripped = sentence.strip()
    is_caption = len(stripped) <= LONGEST_CAPTION and _CAPTION.fullmatch(stripped) is not None
    if is_caption or _OF_A_LIST.match(stripped) or is_left(stripped):
        return 0
    if not _BRACES.search(_OF_FURTHER_COLUMNS.sub("", stripped)):
        return 0 if "{" in stripped and _BEGINS_AS_CAPTION.match(stripped) else len(sentence)
    before = sentence.partition("{input}")[0]
    front = before.rstrip(_QUOTES)
    is_prompt = len(front.split()) >= FEWEST_WORDS and not _BEGINS_AS_CAPTION.match(front.strip())
    return len(front) if is_prompt and not _BRACES.search(front) and len(before) < len(sentence) else 0


def _n_before_form(sentence: str) -> int:
    # up to the example in braces, and up to the words that ask to answer like it
    example = _EXAMPLE.search(sentence)
    if example is None or _OF_A_LIST.match(sentence.strip()) or _BEGINS_AS_CAPTION.match(sentence.strip()):
        return 0
    front = sentence[: example.start()].rstrip(_QUOTES)
    parts = [*(front[: answer.start()] for answer in [*_AND_ANSWER.finditer(front)][-1:]), front]
    return next((len(part) for part in parts if len(part.split()) >= FEWEST_WORDS and "{input}" not in part), 0)


def _trimmed(text: str, place: int, run: Sequence[tuple[int, int]]) -> Part:
    start, end = run[0][0], run[-1][1]
    within = text[start:end]
    return Part(place, start + len(within) - len(within.lstrip()), end - len(within) + len(within.rstrip()))


def named_part(messages: Messages, text: str, file: str) -> Part:
    """Finds where a text stands in the system and user turns. Raises UsageError unless it is exactly one place."""
    turns = [place for place, (role, _) in enumerate(messages) if role != "assistant"]
    found = [
        Part(place, match.start(), match.end())
        for place in turns
        for match in re.finditer(re.escape(text), messages[place][1])
    ]
    shown = f"--instruction: {_shown(text)}"
    if not text or not found:
        msg = f"{shown} does not stand in a system or user turn of {file}{_nearest(messages, turns, text)}"
        raise UsageError(msg)
    if len(found) > 1:
        places = ", ".join(dict.fromkeys(f"messages.{part.message}" for part in found))
        msg = f"{shown} stands {len(found)} times in {file}, in {places}; give more of the text around it"
        raise UsageError(msg)
    return found[0]


def _nearest(messages: Messages, turns: Sequence[int], text: str) -> str:
    whole = [messages[place][1] for place in turns]
    parts = [each[start:end].strip()[:MOST_COMPARED] for each in whole for start, end in sentences(each)]
    parts = [part for part in parts if part][:MOST_COMPARED]
    close = difflib.get_close_matches(text[:MOST_COMPARED], parts, n=1, cutoff=0)
    return f"; nearest: {_shown(close[0])}" if close else ""


def _shown(text: str) -> str:
    return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")


def placed(messages: Messages, part: Part, file: str) -> Messages:
    """Puts {instruction} in place of a part. Raises UsageError where that would cut a placeholder in two."""
    role, text = messages[part.message]
    before, after = text[: part.start], text[part.end :]
    names = [name for each in (before, part.of(messages), after) for name in placeholders(each)]
    if tuple(names) != placeholders(text):
        msg = f"--instruction: {_shown(part.of(messages))} begins or ends inside a placeholder of {file}"
        raise UsageError(msg)
    return (
        *messages[: part.message],
        (role, f"{before}{{instruction}}{after}"),
        *messages[part.message + 1 :],
    )
