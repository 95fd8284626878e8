r"""Finds the final answer in a completion, in time linear in its length.

It takes the first of these that the text has:
1. the content of the last closed `\boxed{}` or `\fbox{}`, or a number or letter behind one without braces;
2. the whole text, where it reads as mathematics;
3. the text behind the last `####`, where it reads as mathematics (others are headings);
4. the text behind the last "answer is", "answer:" or "answer =", a few words between allowed ("the answer to this is");
5. in the last line, the text behind the last "is", "are", "equals" or `=` outside of formulas ("therefore, the sum is
   7"), where it contains mathematics;
6. in the last line, the last formula between dollar signs or the like, else the last number with the word behind it;
7. the whole text, where it has at most four words.

The text behind a marker is its sentence where that reads as mathematics, else the formula or number it starts with,
else its last formula, else its last number, else up to four words. Words are kept as they are: "fifty" is never 50.
"""

from __future__ import annotations

import functools
import re

import re2

from promptaudit.udfs.readers.answer_end import answer_end
from promptaudit.udfs.readers.phrases import NOT, PERHAPS, WITHHOLDS, words
from promptaudit.udfs.scoring.math.formula import OverlongFormula, UnreadableFormula, read_formula
from promptaudit.udfs.scoring.math.number import Quantity, read_quantity
from promptaudit.udfs.scoring.math.vocabulary import SIGNS, is_name

MAX_READ_CHARACTERS = 100_000
"""A final answer is looked for in this many characters from the end."""

MAX_READ_AS_ONE = 2_000
"""A longer sentence or line is read up to this many characters from its start, a last line from its end."""

MAX_WORDS = 4

_CHARACTERS = str.maketrans(
    SIGNS
    | dict.fromkeys(("\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{THIN SPACE}"), " ")
    | dict.fromkeys(("\N{EURO SIGN}", "\N{POUND SIGN}"), "")
    | {"\N{DEGREE SIGN}": r"^\circ "}
)
_DEGREES = re.compile(r"\^\s?(?:\{\s?\\circ\s?\}|\\circ(?![A-Za-z]))|\\degrees?(?![A-Za-z])")
_OF_DEGREES = re.compile(r"(?:sin|cos|tan|cot|sec|csc)(?![a-z])")
_REPEATING = re.compile(r"([0-9]*)\.([0-9]*)\\overline\s?\{([0-9]+)\}")
_THOUSANDS = re.compile(r"(?<=[0-9])(?:\{,\}|,\\!|\\[,!;: ])\s?(?=[0-9]{3}(?![0-9]))")
_DELIMITERS = re.compile(r"(?<!\\)\\[()\[\]]|\\?\$")
_BEFORE = re.compile(r"(?:[\s*`\"_~:=,;]|about\b|approximately\b|roughly\b|exactly\b|\\approx\b|\N{ALMOST EQUAL TO})+")
_BEHIND = ' \t\r\n*`"_:,;.'

_CURRENCY = re.compile(r"(?<![\\\w])\$(?=\d[\d,]*(?:\.\d+)?(?:\*|[.,;:)]?(?:\s|$)))")  # of money, and of no formula
_LONG_WORD = re.compile(r"[A-Za-z]{4,}")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{|\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\(?:boxed|fbox)[ \t]*(-?\d(?:[\d.,/]*\d)?|[A-Za-z](?![A-Za-z]))")
_ANSWER = re2.compile(r"(?i)\banswers?\b[^.\n:=]{0,60}?(?:\bis\b|\bare\b|[:=])")
_STATEMENT = re2.compile(r"(?i)\b(?:is|are|equals)\b|(?:^|[^<>!=\\])=")
_SEGMENT = re.compile(r"\$\$?([^$\n]+)\$\$?|\\\(([^\n]+?)\\\)|\\\[([^\n]+?)\\\]")
_DISPLAY_STARTS, _DISPLAY_ENDS = re.compile(r"(\\\[|\$\$)[ \t]*\n"), re.compile(r"\n[ \t]*(\\\]|\$\$)")
_SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z])|\n")
_TEX = frozenset("\\{}^_")
_NUMBER_STARTS = frozenset("0123456789-+.$(")
_NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")


def final_answer(completion: str) -> str | None:
    """Finds the final answer of a completion, as it is written there; None where there is none.

    It may be blank or too long.
    """
    text = _encodable(completion[-MAX_READ_CHARACTERS:]).strip()
    end = answer_end(text, is_reasoned=True)
    found = _final_answer(text[:end].strip())
    is_answer = end == len(text) or (found is not None and is_mathematics(found))  # not a greeting before a question
    return found if is_answer else _final_answer(text)


def _final_answer(text: str) -> str | None:
    box = _last_box(text)
    if box is not None:
        return box
    text = _without_currency(text)
    if is_mathematics(text):
        return text
    behind = _behind_hashes(text)
    if behind is not None and is_mathematics(behind):
        return behind
    text = _DISPLAY_ENDS.sub(r" \1", _DISPLAY_STARTS.sub(r"\1 ", text))
    end = _last_end(_ANSWER, text)
    stated = _stated(text[end:].lstrip(), takes_words=True) if end else None
    if stated is None:
        line = text[text.rfind("\n") + 1 :]
        stated = _concluded(line)
        if stated and _is_not_given(line, stated):
            return None
    if stated is None and len(text.split(maxsplit=MAX_WORDS)) <= MAX_WORDS:
        stated = text
    return stated or None


def _without_currency(text: str) -> str:
    # the dollar signs of amounts are no bounds of formulas
    if "$" not in text:
        return text
    formulas = [match.span() for match in _SEGMENT.finditer(text) if is_mathematics(_inside(match))]
    return _CURRENCY.sub(
        lambda match: match[0] if any(start <= match.start() < end for start, end in formulas) else "", text
    )


@functools.lru_cache(maxsize=1)
def _doubts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    before = rf"(?:{words(NOT)}|{words(PERHAPS)})\s+(?:be |sean |sea |the |an? |about )?\s*\$?$"
    return re.compile(before, re.IGNORECASE), re.compile(words(WITHHOLDS), re.IGNORECASE)


def _is_not_given(line: str, stated: str) -> bool:
    # the line denies or doubts its answer right before it, asks, or says that it gives none
    line = line[-MAX_READ_AS_ONE:]
    place = line.rfind(stated)
    if place < 0 or is_mathematics(line):
        return False
    before, withholds = _doubts()
    return bool(line.endswith("?") or before.search(line[max(0, place - 60) : place]) or withholds.search(line))


def boxed_answer(completion: str) -> str | None:
    r"""Reads the content of the last closed `\boxed{}` or `\fbox{}` of a completion; None where there is none."""
    return _last_box(_encodable(completion[-MAX_READ_CHARACTERS:]))


def reference_answer(reference: str) -> str:
    """Reads the answer of a reference: the content of its box, else behind its last `####` (as in GSM8K), else all."""
    text = _encodable(reference[-MAX_READ_CHARACTERS:]).strip()
    box = _last_box(text)
    return box if box is not None else _behind_hashes(text) or text


def is_mathematics(text: str) -> bool:
    """Tests whether all of a text reads as a number or a formula."""
    if stated_quantity(text) is not None:
        return True
    if len(text) > MAX_READ_AS_ONE:
        return False
    word = _LONG_WORD.search(text) if "\\" not in text else None
    if word is not None and not is_name(word[0]):  # most prose, seen without reading it
        return False
    try:
        read_formula(tidied(text))
    except (UnreadableFormula, OverlongFormula):
        return False
    return True


@functools.lru_cache(maxsize=2**13)
def stated_quantity(text: str) -> Quantity | None:
    """Reads the plain number that a text is once it is tidied; None where it is something else."""
    return read_quantity(tidied(text)) if len(text) <= MAX_READ_AS_ONE else None


def tidied(text: str) -> str:
    """Writes a text in LaTeX's signs; removes marks around an answer, degrees, currencies and thousands' signs.

    Degrees stay where a sine or the like is taken of them; a repeating decimal becomes its fraction.
    """
    if not text.isascii():
        text = text.translate(_CHARACTERS)
    if "\\" in text or "$" in text or "{" in text:
        text = _DEGREES.sub(r"\\cdot\\frac{\\pi}{180}" if _OF_DEGREES.search(text) else "", text)
        text = _DELIMITERS.sub("", _THOUSANDS.sub("", _REPEATING.sub(_fraction, text)))
    before = _BEFORE.match(text)
    return (text[before.end() :] if before else text).rstrip(_BEHIND).removesuffix("\\")


def _fraction(repeating: re.Match[str]) -> str:
    whole, fixed, period = repeating.groups()
    ones = 10 ** len(period) - 1  # 0.1666... is (16 - 1) / 90
    return rf"\frac{{{int(whole + fixed + period) - int(whole + fixed or 0)}}}{{{ones * 10 ** len(fixed)}}}"


def _encodable(text: str) -> str:
    # RE2 reads UTF-8, which cannot hold half a surrogate pair
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _last_box(text: str) -> str | None:
    if "\\boxed" not in text and "\\fbox" not in text:
        return None
    open_boxes: list[int | None] = []  # for each brace that is open: where its box's content starts
    place: tuple[int, int] | None = None
    for match in _BOX.finditer(text):
        mark = match[0]
        if mark == "}":
            start = open_boxes.pop() if open_boxes else None
            if start is not None and (place is None or start > place[0]):
                place = start, match.start()
        elif mark == "{":
            open_boxes.append(None)
        elif mark[-1] == "{" and mark != "\\{":
            open_boxes.append(match.end())
    if place is not None:
        return text[place[0] : place[1]].strip()
    bare = None if open_boxes else [*_BARE_BOX.finditer(text)]
    return bare[-1][1] if bare else None


def _behind_hashes(text: str) -> str | None:
    _, hashes, behind = text.rpartition("####")
    return behind.strip().partition("\n")[0] if hashes else None


def _last_end(pattern: re2._Regexp, text: str) -> int:
    # 0 without a match
    end = 0
    for match in pattern.finditer(text):
        end = match.end()
    return end


def _stated(text: str, *, takes_words: bool) -> str | None:
    # the answer that a text opens with, else the last one of its first sentence
    text = text[:MAX_READ_AS_ONE]
    end = _SENTENCE_END.search(text)
    sentence = (text[: end.start()] if end else text).strip()
    if is_mathematics(sentence):
        return sentence
    formulas = [match for match in _SEGMENT.finditer(sentence) if is_mathematics(_inside(match))]
    words = sentence.split()
    if words and words[0].lower() == "not":  # "not 5" gives no answer
        return ""
    if formulas and formulas[0].start() == 0:
        return _inside(formulas[0])
    if words and words[0][:1] in _NUMBER_STARTS:
        number = _number_at(words, 0)
        if number is not None:
            return number
    if formulas:
        return _inside(formulas[-1])
    return _last_number(words) or (sentence if takes_words and 0 < len(words) <= MAX_WORDS else None)


def _concluded(line: str) -> str | None:
    line = line[-MAX_READ_AS_ONE:]
    formulas = [match for match in _SEGMENT.finditer(line) if is_mathematics(_inside(match))]
    prose = line
    for match in formulas:
        prose = prose[: match.start()] + "_" * len(match[0]) + prose[match.end() :]
    end = _last_end(_STATEMENT, prose)
    stated = _stated(line[end:].lstrip(), takes_words=False) if end else None
    if stated is None and formulas:
        stated = _inside(formulas[-1])
    return _last_number(line.split()) if stated is None else stated


def _inside(segment: re.Match[str]) -> str:
    return next((part for part in segment.groups() if part is not None), "").strip()


def _last_number(words: list[str]) -> str | None:
    numbers = (_number_at(words, at) for at in reversed(range(len(words))))
    return next((number for number in numbers if number is not None), None)


def _number_at(words: list[str], at: int) -> str | None:
    # with a whole number before a fraction and a unit behind it; None where the word has no digit
    match = _NUMBER.search(words[at])
    if match is None:
        return None
    word = words[at].strip("()[]\"'?!" + _BEHIND)
    is_tex = not _TEX.isdisjoint(word)  # half of a formula: \frac{1}{2 is not "1"
    number = word if is_tex or is_mathematics(word) else match[0]
    is_whole = number == words[at]
    if at and "/" in number and words[at - 1].isdigit():
        number = f"{words[at - 1]} {number}"
    if at + 1 < len(words) and is_whole:
        with_unit = f"{number} {words[at + 1].strip(_BEHIND)}"
        return with_unit if stated_quantity(with_unit) is not None else number
    return number
