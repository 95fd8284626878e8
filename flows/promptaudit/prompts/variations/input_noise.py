"""Adds noise to the sample's text: typing errors, letter case, white space, at a rate.

PromptBench (Zhu et al., 2023, "PromptRobust: Towards Evaluating the Robustness of Large Language Models on Adversarial
Prompts") makes such typing errors in prompts at the level of characters; CheckList (Ribeiro et al., 2020, ACL) in
inputs, as its test of invariance to typos. The changes depend on the level's seed and the sample's id alone. Words with
a digit, words of the labels and the card's protected words stay as they are, and so do options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from promptaudit.engines.embedded.draws import choice, uniform, uniform_after
from promptaudit.prompts.variations.original import Level, Original
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.samples import Sample

NOISES = ("typos", "case", "white_space")
LEAST_LETTERS = 4  # of a word that gets a typing error
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_GAP = re.compile(r"(?<!\S)(\S++)( ++)(?=(\S++))")  # a gap and the words around it, in time linear in the text
_MARKS = ".,:;!?()[]\"'"
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# the keys beside, above and below each key of a QWERTY keyboard
_NEAR = {
    key: "".join(
        other
        for there, others in enumerate(_ROWS)
        for place, other in enumerate(others)
        if other != key and abs(there - here) <= 1 and abs(place - own) <= 1
    )
    for here, row in enumerate(_ROWS)
    for own, key in enumerate(row)
}


def misfit(task: TaskCard) -> str | None:  # noqa: ARG001 - as of every kind
    """Finds no obstacle: every task has inputs."""
    return None


def levels(original: Original, n: int) -> list[Level]:
    """Lists n noises, the three by turns, each round with another seed."""
    turns = ((noise, seed) for seed in range(1, n + 1) for noise in NOISES)
    return [{"noise": noise, "rate": original.noise_rate, "seed": seed} for noise, seed in islice(turns, n)]


def shown(sample: Sample, level: Level, task: TaskCard) -> Sample:
    """Adds noise to a sample's text: changes the rate's share of the words or gaps that may change, at least one."""
    key = (level["noise"], level["seed"], sample.sample_id)
    return replace(sample, text=noisy(sample.text, level["noise"], level["rate"], kept_words(task), key))


def kept_words(task: TaskCard) -> frozenset[str]:
    """Lists the words that noise leaves as they are, case folded."""
    texts = (*task.label_names, *task.protected)
    return frozenset(word.casefold() for text in texts for word in re.findall(r"\w+", text))


def noisy(text: str, noise: str, rate: float, kept: frozenset[str], key: Sequence[str | int]) -> str:
    """Adds one noise to a text at a rate; `key` is what its draws depend on."""
    if noise == "white_space":
        spans = [match.span(2) for match in _GAP.finditer(text) if _may_widen(match[1], match[3], kept)]
    else:
        words = (match.span() for match in _WORD.finditer(text))
        least = LEAST_LETTERS if noise == "typos" else 1
        spans = [span for span in words if span[1] - span[0] >= least and _may_change(text, span, kept)]
    if not spans:
        return text
    change: Callable[..., str] = {"typos": _mistyped, "case": _recased, "white_space": _widened}[noise]
    rank = uniform_after("word", *key)
    ranked = sorted(spans, key=lambda span: rank(*span))
    parts, place = [], 0
    for start, end in sorted(ranked[: max(1, round(rate * len(spans)))]):
        parts += [text[place:start], change(text[start:end], *key, start)]
        place = end
    return "".join((*parts, text[place:]))


def _may_widen(before: str, after: str, kept: frozenset[str]) -> bool:
    # only between words, not beside a number, and not between two words that are kept
    words = [word.strip(_MARKS).casefold() for word in (before, after)]
    return all(word.isalpha() for word in words) and not kept.issuperset(words)


def _may_change(text: str, span: tuple[int, int], kept: frozenset[str]) -> bool:
    # only a run of letters that is a word of its own, and none that is kept
    start, end = span
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return not re.search(r"[\w{}]", around) and not {text[start:end].casefold()} & kept


def _mistyped(word: str, *key: str | int) -> str:
    # a neighbouring key in place of a letter, or two letters swapped; the first letter stays
    place = 1 + int(uniform("letter", *key) * (len(word) - 2))
    near = _NEAR.get(word[place].lower(), "")
    if near and uniform("slip", *key) < 0.5:  # noqa: PLR2004 - either is as likely
        letter = choice(list(near), "key", *key)
        return word[:place] + (letter.upper() if word[place].isupper() else letter) + word[place + 1 :]
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return swapped if swapped != word else word[:place] + word[place] * 2 + word[place + 1 :]


def _recased(word: str, *key: str | int) -> str:
    # all capitals, or the case of the first letter changed
    changed = [each for each in (word.upper(), word[0].swapcase() + word[1:]) if each != word]
    return choice(changed, "case", *key) if changed else word


def _widened(gap: str, *key: str | int) -> str:
    # one to three blanks more
    return gap + " " * (1 + int(uniform("blanks", *key) * 3))
