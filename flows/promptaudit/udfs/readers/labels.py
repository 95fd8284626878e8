"""Reads which label of a closed set a text gives: the text is the label, names it in whole words, or gives its number.

The result is one of the labels, as it is written, or None. Two labels that a reader cannot distinguish are never read.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from promptaudit.udfs.readers.answer_end import answer_end
from promptaudit.udfs.readers.commitment import (
    MOST_CHARACTERS,
    MOST_SIGNS,
    NONE,
    OUTSIDE,
    TWO,
    Committed,
    committed,
    sign_of,
    within_reach,
)
from promptaudit.udfs.readers.markdown import tidied
from promptaudit.udfs.readers.numbers import marked_numbers
from promptaudit.udfs.readers.phrases import COMMON
from promptaudit.udfs.readers.signs import LONGEST_SIGN, signs_before
from promptaudit.udfs.spelling import (
    canonical,
    folded,
    joined,
    numeral,
    spaced,
    without_unseen,
)
from promptaudit.udfs.writing_systems import AROUND, is_whole

Labels = tuple[str, ...]

NAMES_OF_ANSWERS = (
    "label|answer|category|class|classification|sentiment|output|result|response|prediction|verdict|choice|rating|score|grade|"
    "stance|klasse|klassifikation|bewertung|clasificación|calificación|valoración|classificação|classificazione|respuesta|etiqueta|"
    "categoría|réponse|étiquette|catégorie|antwort|kategorie|risposta|etichetta|categoria|resposta|rótulo|antwoord|"
    "odpowiedź|kategoria|ответ|категория|відповідь|категорія|cevap|yanıt|etiket|jawaban|kategori|svar|đáp án|nhãn|الإجابة|"
    "التصنيف|תשובה|उत्तर|คำตอบ|答案|标签|標籤|评分|得分|分数|立场|类别|類別|情感|答え|回答|ラベル|感情|정답|답변|라벨|감정"
)
"""Words that models write before a label, with a colon behind."""
LONGEST_OF_ONE_NUMBER = 80  # characters of a text in which a number that is only named is the answer
LONGEST_MARKS = 120  # characters of marks and of a word before a label, at most


def exact(text: str, labels: Labels) -> str | None:
    """Reads the label that equals a text without the white space around it, in any canonically equivalent form."""
    text = text.strip()
    return text if text in labels else _spelled(labels, canonical).get(canonical(text))


def label(text: str, labels: Labels) -> str | None:
    """Reads a text as a label, ignoring case, a final full stop, quotes, Markdown and a leading word such as `Label:`.

    Where the text as a whole is no label, it reads the label that stands alone in a line, if no other line is another
    label and the whole text commits to it (`label_in_text`). "40 Environment" is neither 40 nor Environment.
    """
    found = exact(text, labels) or _alone(text, labels)
    if found is not None or "\n" not in text.strip():
        return found or None
    lines = {_alone(line, labels) for line in dict.fromkeys(text.splitlines())} - {None}
    found = next(iter(lines)) or None if len(lines) == 1 else None
    if found is None:
        return None
    whole = _committed(text, labels)
    return found if whole.answer == labels.index(found) or whole.reason == NONE else None


def label_in_text(text: str, labels: Labels) -> str | None:
    """Reads the label that a text commits to, named in whole words; a longer label counts before one inside it.

    Case, and whether words are joined by "_" or "-", count only where labels differ by nothing else. A number has the
    sign that stands before it, as in `first_integer`.
    """
    return reading_in_text(text, labels)[0]


def reading_in_text(text: str, labels: Labels) -> tuple[str | None, str | None]:
    """Reads as `label_in_text` does, and says why there is no label.

    The reason is denied, hedged, two named or not in the set; None in all other cases.
    """
    alone = exact(text, labels) or (_alone(text, labels) if len(text) < LONGEST_MARKS else None)
    if alone:
        return alone, None
    found = _committed(text, labels)
    if found.answer is not None:
        return labels[found.answer], None
    return None, None if found.reason == NONE else found.reason


def _committed(text: str, labels: Labels) -> Committed:
    weak = _weak(labels)
    if _are_integers(labels) and len(text) > LONGEST_OF_ONE_NUMBER:
        weak = frozenset(map(sign_of, range(len(labels))))  # most texts of that length count something
    if len(labels) > MOST_SIGNS:
        return Committed(None, NONE)
    return committed_before_turn(text, functools.partial(_marked, labels=labels), weak)


def committed_before_turn(text: str, marked: Callable[[str], str], weak: frozenset[str] | None) -> Committed:
    """Decides what a text commits to before a turn that the model invented; in all of it where nothing is found there.

    The letters of options are looked for behind it only where it is no question, which has options of its own. `marked`
    puts `sign_of` an answer where a text names it; `weak` is as in `committed`.
    """
    # letters are read only at the end of a long text: an earlier one may be taken back in a part that is not read
    text = text[-MOST_CHARACTERS:] if weak is None else within_reach(text)
    end = answer_end(text)
    found = committed(marked(text[:end]), weak)
    is_of_other = (
        weak is None and answer_end(text, is_reasoned=True) == end
    )  # a letter behind a question answers that one
    if end == len(text) or found.is_stated or is_of_other:
        return found
    whole = committed(marked(text), weak)
    if found.answer is not None and whole.answer not in (None, found.answer):
        return Committed(None, TWO)  # only named before what may be a new turn, and contradicted behind it
    return whole if found.reason == NONE else found


@functools.lru_cache(maxsize=256)
def _weak(labels: Labels) -> frozenset[str]:
    return frozenset(
        sign_of(place)
        for place, each in enumerate(labels)
        if (folded(each) in COMMON and each == each.casefold()) or (len(each) == 1 and each.isalpha())
    )


_HAS_MARKS = re.compile(r"[*_~`«»]{2}|[*~`«»]")


def _marked(text: str, labels: Labels) -> str:
    plain = text if any(map(_HAS_MARKS.search, labels)) else tidied(text)
    if _are_integers(labels):
        return marked_numbers(plain, labels)
    spell = _distinct_spelling(labels) or canonical
    by_words = _spelled(labels, spell)
    in_case = {each: each for each in labels if each != each.casefold() and each.casefold() in COMMON}
    places = {each: place for place, each in enumerate(labels)}
    return "\n".join(_marked_line(line, by_words, in_case, places, spell) for line in plain.splitlines())


def _marked_line(
    line: str,
    by_words: Mapping[str, str],
    in_case: Mapping[str, str],
    places: Mapping[str, int],
    spell: Callable[[str], str],
) -> str:
    if not line.isupper():  # words that most texts have in small letters count as they are written
        for each in in_case:
            begins = (
                "" if each.isupper() else r"(?<![.!?]\s)(?<!^)"
            )  # at the beginning of a sentence any word has a capital
            word = rf"(?<!\w){re.escape(each)}"
            line = re.sub(rf"{begins}{word}(?!\w)|{word}(?=\s*(?:[.,:;!]|$))", sign_of(places[each]), line)
    spelled = spell(line)
    as_joined = joined(line) if spell is spaced else spelled
    spans: dict[int, tuple[int, str]] = {}
    taken = bytearray(len(spelled))
    for words in sorted(by_words, key=len, reverse=True):
        if by_words[words] in in_case and not line.isupper() and spelled != words:
            continue
        for start in _places(spelled, words, as_joined):
            end = start + len(words)
            if taken.find(1, start, end) >= 0:
                continue
            here = [by_words[each] for each in _signed(spelled, start, words) if each in by_words]
            if here:
                spans[start] = (end, sign_of(places[here[0]]) if len(here) == 1 else OUTSIDE)
                taken[start:end] = b"\1" * len(words)
    parts, last = [], 0
    for start, (end, sign) in sorted(spans.items()):
        parts += [spelled[last:start], sign]
        last = end
    return "".join([*parts, spelled[last:]])


def _signed(text: str, start: int, words: str) -> list[str]:
    # a number gets each of the signs that it may have there
    digits = words.removeprefix("-")
    if not digits[:1].isdecimal() or numeral(digits) is None:
        return [words]
    place = start + len(words) - len(digits)
    return [f"{sign.strip('+')}{digits}" for sign in signs_before(text[max(0, place - LONGEST_SIGN) : place])]


@functools.lru_cache(maxsize=256)
def _distinct_spelling(labels: Labels) -> Callable[[str], str] | None:
    # the spelling that ignores most and still keeps the labels apart; None where only case does
    return next((spell for spell in (spaced, folded) if len(set(map(spell, labels))) == len(labels)), None)


def _places(text: str, words: str, as_joined: str) -> Iterator[int]:
    # places with the same characters around them are looked at once
    known: dict[str, bool] = {}
    start = text.find(words) if words else -1
    while start >= 0:
        end = start + len(words)
        around = as_joined[max(0, start - AROUND) : end + AROUND]
        if around not in known:
            known[around] = is_whole(as_joined, start, end)
        if known[around]:
            yield start
        start = text.find(words, start + 1)


def first_integer(text: str, labels: Labels) -> str | None:
    """Reads the label that is the whole number a text gives: +3 and 03 are 3, unless a label is spelled so.

    The ends of a scale, numbers of steps and lists, and counts of things are not answers (`numbers.marked_numbers`),
    and a stated number beats one that is only named. Every dash that people write for minus counts as one, and digits
    of all scripts count. Where a dash may as well be a hyphen, a bullet or a dash of the sentence ("type-1", "- 1") and
    the number with and without it are both labels, neither is read.
    """
    return reading_of_integer(text, labels)[0]


def reading_of_integer(text: str, labels: Labels) -> tuple[str | None, str | None]:
    """Reads as `first_integer` does, and says why there is no number, in the words of `reading_in_text`."""
    return reading_in_text(text, _integers(labels))


@functools.lru_cache(maxsize=256)
def _integers(labels: Labels) -> Labels:
    # two labels of one number are both left out
    times = Counter(map(_as_integer, labels))
    return tuple(each for each in labels if (number := _as_integer(each)) is not None and times[number] == 1)


@functools.lru_cache(maxsize=256)
def _are_integers(labels: Labels) -> bool:
    numbers = [_as_integer(each) for each in labels]
    return bool(labels) and None not in numbers and len(set(numbers)) == len(labels)


def _as_integer(text: str) -> int | None:
    number = numeral(text)
    try:  # more digits than Python converts are no label either
        return None if number is None else int(number)
    except ValueError:
        return None


@functools.lru_cache(maxsize=256)
def _spelled(labels: Labels, spell: Callable[[str], str | None]) -> Mapping[str, str]:
    # labels that share a spelling are left out
    spellings = [(spell(label), label) for label in labels]
    times = Counter(spelling for spelling, _ in spellings)
    return {spelling: label for spelling, label in spellings if spelling is not None and times[spelling] == 1}


# --- a label and what may stand around it

# Each mark that opens a quotation, with the marks that may close it.
_QUOTES = "\"\" '' () [] “” ”” „“” ‘’ ’’ ‚‘’ ´´ «» »«» ‹› ›‹› 「」 『』 【】 《》 〈〉"
_PAIRS = {pair[0]: pair[1:] for pair in _QUOTES.split()}
_MARKS = "*_~`"
_OPENING = re.compile(r"\A(?:#{1,6}\s+|[-+]\s+(?!\d)|[*•‣◦▪]\s+|[¡¿]|>\s*|```\w*\s+)")
# A character that decorates an answer, and says neither no nor perhaps.
_EMOJI = "(?![☐☒✖✗✘❌❎❓❔⛔🚫👎🙅🤔🤷])[\u2600-\u2775\u2798-\u27bf\u2b50\u2b55\U0001f300-\U0001faff]"
_EMOJIS = re.compile(rf"\A(?:{_EMOJI}\s*)+|(?:\s*{_EMOJI})+\Z")
_CLOSING = re.compile(r"(?:[.。．｡।۔።។!！…]+|\s*```|</s>|<\|\w{1,30}\|>|<end_of_turn>|<eos>)$")
_LEAD = re.compile(
    rf"\A[*_\"'`]{{0,3}}(?:(?:the|my)\s)?(?:(?:final|correct|predicted)\s)?(?:{NAMES_OF_ANSWERS})[*_\"'`]{{0,3}}\s*[:：=]\s*(?:[*_]{{1,3}}\s+)?",
    re.IGNORECASE,
)


def _alone(text: str, labels: Labels) -> str | None:
    # "" where it may be several labels, None where it is none
    core = ""
    longest, by_core = _cores(labels)
    if len(text) > longest + LONGEST_MARKS:
        return None
    spell = _distinct_spelling(labels) or folded
    for form in _forms(text):
        core = _key(form, spell)
        if (spelled := exact(form, labels)) is not None:
            return spelled
    found = by_core.get(core, ())
    return None if not found else found[0] if len(found) == 1 else ""


@functools.lru_cache(maxsize=256)
def _cores(labels: Labels) -> tuple[int, Mapping[str, Sequence[str]]]:
    # the length of the longest label, and the labels by their text without the parts that `label` ignores
    by_core: dict[str, list[str]] = {}
    spell = _distinct_spelling(labels) or folded
    for each in labels:
        *_, last = _forms(each)
        by_core.setdefault(_key(last, spell), []).append(each)
    return max(map(len, labels), default=0), by_core


def _key(text: str, spell: Callable[[str], str]) -> str:
    return numeral(text) or spell(text)


def _forms(text: str) -> Iterator[str]:
    # takes one mark after the other from around the text, until none is left or it would be empty
    form = without_unseen(text).strip()
    yield form
    while (less := next((less for take in _TAKEN if (less := take(form).strip()) != form), "")) != "":
        form = less
        yield form


def _within_quotes(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[-1] in _PAIRS.get(text[0], "") else text


_TAKEN: Sequence[Callable[[str], str]] = (
    functools.partial(_OPENING.sub, ""),
    functools.partial(_EMOJIS.sub, ""),
    lambda text: text.strip(_MARKS),
    _within_quotes,
    functools.partial(_LEAD.sub, ""),
    functools.partial(_CLOSING.sub, ""),
)

LABEL_READERS: Mapping[str, Callable[[str, Labels], tuple[str | None, str | None]]] = {
    "exact": lambda text, labels: (exact(text, labels), None),
    "label": lambda text, labels: (label(text, labels), None),
    "label_in_text": reading_in_text,
    "first_integer": reading_of_integer,
}
"""The readers that a card names by a word. Each gives a label, or None, and sometimes the reason."""
