"""Finds where an answer ends, before a turn or a question that the model invented."""

from __future__ import annotations

import re

from promptaudit.udfs.readers.phrases import ANSWER, BECAUSE, FINALLY, NEXT, NEXT_QUESTION, NEXT_TEXT, REVISES, words


def _turn(names: str) -> re.Pattern[str]:
    any_of = "|".join(sorted(set(names.split("|")), key=len, reverse=True))
    return re.compile(
        rf"^[ \t]*(?:(?:#{{1,6}}[ \t]*|\*\*|[-=_*]{{3,}}+[ \t]*+\n[ \t]*+)?(?:(?:{NEXT}) ?)?"
        rf"(?:{any_of})(?:[ \t]*\(?\d{{1,3}}\)?)?"
        r"[ \t]*(?:\*\*)?[ \t]*[:：.)]|#{2,6}[ \t]*(?:instruction|input|question|user|human|example|task|problem|next)\b|"
        r"(?:now you try|try (?:it|this) (?:yourself|one)|your turn|follow-?up)\b|"
        r"\[/?INST\]|<\|(?:im_start|start_header_id|user|endoftext|eot_id|end|assistant)[^>]{0,20}\|?>|<start_of_turn>|</?s>)",
        re.IGNORECASE | re.MULTILINE,
    )


_QUESTION, _TURN = _turn(NEXT_QUESTION), _turn(f"{NEXT_QUESTION}|{NEXT_TEXT}")
_OF_ANSWER = f"(?:{words(ANSWER)}|{words(FINALLY)}|{words(BECAUSE)}|{words(REVISES)}|edit|update|p\\.?s\\.?\\b)"
# A paragraph headed by something else than an answer or its reason, or a question.
_OTHER_TURN = re.compile(
    rf"\n[ \t]*+\n[ \t]*+(?:[-=*_]{{3,}}+\s*+)?(?![^\n:：]{{0,30}}?{_OF_ANSWER})"
    r"(?:[^\W\d_][\w' -]{0,30}[:：]|[^\n]{3,200}[?？؟][ \t]*\n)",
    re.IGNORECASE,
)
# A question with its options.
_ASKED = re.compile(r"\n[^\n]{3,300}(?:[?？؟]|_{3}[^\n]{0,100})[ \t]*\n\s*[-*(\[]*[Aa1][.)\]:：．]")
MOST_CHARACTERS = 50_000
SHORT = 40  # a paragraph with another heading ends only answers of at most so many characters
_INLINE = re.compile(
    r"(?<=\S)(?:</s>|\[INST\]|<\|(?:im_end|im_start|eot_id|endoftext|end)\|>|<end_of_turn>)|"
    r"(?<=\S)[ \t]+(?:Q|Question|User|Human)[ \t]*\d{0,3}:[ \t]+(?=\S.{0,300}?(?:\?|\bA:|Answer:|Assistant:))",
    re.DOTALL,
)


def answer_end(text: str, *, is_reasoned: bool = False) -> int:
    """Finds where the first turn or question after an answer begins, or gives the length of the text where none does.

    Readers look for the answer before that place first, and in the whole text where nothing is found there: a text may
    begin with its own question. With `is_reasoned`, as in mathematics, only a question or a turn of the asker ends the
    answer: other headings begin its parts.
    """
    if len(text) > MOST_CHARACTERS:  # an answer of that length is no label with a turn behind it
        return len(text)
    start = len(text) - len(text.lstrip())
    if re.search("[\n:<\\[]", text) is None:
        return len(text)
    for pattern in (_QUESTION if is_reasoned else _TURN, _INLINE, _ASKED):
        found = next((match for match in pattern.finditer(text) if text[start : match.start()].strip()), None)
        if found is not None:
            return found.start()
    other = None if is_reasoned else _OTHER_TURN.search(text, start, start + SHORT + 300)
    return other.start() if other is not None and other.start() - start <= SHORT else len(text)
