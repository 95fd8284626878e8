"""Classifies without weights: it picks the label whose surroundings in the prompt look most like the input.

What the prompt says around each mention of a label (its description, its example) is the label's profile, as weighted
character n-grams; the input goes to the label with the nearest profile. A rewording changes the profiles, and with them
the answers near a border, as it does in a language model; labels alone say little, descriptions and examples much.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from promptaudit.engines import Request
from promptaudit.engines.embedded.annotator import Annotate
from promptaudit.engines.embedded.draws import choice
from promptaudit.registry.cards import ModelCard

SIZES = (2, 3, 4)
WINDOW = 40  # words looked at on each side of a mention
DECAY = 0.97  # factor on a word's weight for each word between it and the mention
NEW_LINE = 0.3  # factor on the weight for each line break in between
OWN_NAME = 0.5  # weight of the label's own words
LONG_INPUT = 20  # characters; shorter inputs may be words of the prompt itself
_BETWEEN = re.compile(r"[^\w\n]*(?:\w{1,3}\b[^\w\n]*)?")  # at most a short word, as "or" is
_WORD = re.compile(r"\w+|\n")


def lexical_annotator(card: ModelCard) -> Annotate:
    """Makes a function that answers with a label, the same in every repetition; seed and sample break a tie."""
    profile = functools.lru_cache(maxsize=512)(label_profiles)

    def annotate(request: Request) -> str:
        prompt = "\n".join(without_input(content, request.text) for _, content in request.messages)
        vocabulary, weights = profile(prompt, request.labels)
        rows = [row for gram in _ngrams(request.text) if (row := vocabulary.get(gram)) is not None]
        scores = weights[rows].sum(axis=0)
        best = [label for label, score in zip(request.labels, scores, strict=True) if score >= scores.max() - 1e-12]
        return best[0] if len(best) == 1 else choice(best, "lexical", card.seed, request.sample_id)

    return annotate


def without_input(content: str, text: str) -> str:
    """Cuts the sample's input out of the message: every occurrence of a long one, the last whole one of a short one."""
    if not text.strip():
        return content
    if len(text) >= LONG_INPUT:
        return content.replace(text, " ")
    edges = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", content)]
    if not edges:
        return content
    start, end = edges[-1]
    return content[:start] + " " + content[end:]


def label_profiles(prompt: str, labels: Sequence[str]) -> tuple[Mapping[str, int], npt.NDArray[np.float64]]:
    """Weighs each n-gram for each label.

    Returns n-gram to row, and the (n-grams, labels) weights whose columns are unit vectors (zero for a label without
    any). A gram weighs 1 + log of its summed weight in a profile, times the log of how few profiles hold it: what
    stands around every label does not separate the labels.
    """
    profiles = [_profile(prompt, label, labels) for label in labels]
    spread = Counter(gram for profile in profiles for gram in profile)
    vocabulary = {gram: row for row, gram in enumerate(spread)}
    weights = np.zeros((len(vocabulary), len(labels)))
    for column, profile in enumerate(profiles):
        for gram, weight in profile.items():
            weights[vocabulary[gram], column] = np.log1p(weight) * np.log((1 + len(labels)) / spread[gram])
    norms = np.linalg.norm(weights, axis=0)
    return vocabulary, weights / np.where(norms > 0, norms, 1)


def _profile(prompt: str, label: str, labels: Sequence[str]) -> dict[str, float]:
    profile: dict[str, float] = defaultdict(float)
    for gram in _ngrams(label.replace("_", " ")):
        profile[gram] += OWN_NAME
    for listed, before, after in _lists(prompt, tuple(labels)):
        if label.casefold() not in listed:
            continue
        place = listed.index(label.casefold())
        for words, steps in ((_WORD.findall(before)[::-1], place), (_WORD.findall(after), len(listed) - 1 - place)):
            weight = DECAY**steps
            for word in words[:WINDOW]:
                weight *= NEW_LINE if word == "\n" else DECAY
                for gram in _ngrams(word):
                    profile[gram] += weight
    return profile


@functools.lru_cache(maxsize=512)
def _lists(prompt: str, labels: tuple[str, ...]) -> list[tuple[list[str], str, str]]:
    # labels mentioned in a row ("a, b or c"; mostly one alone), with the text back to the one before and on to the next
    # the longest first, so that "person of note" is not a mention of "person"
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    matches = re.finditer(rf"(?<!\w)(?:{names})(?!\w)", prompt, re.IGNORECASE)
    lists: list[tuple[list[str], int, int]] = []
    for match in matches:
        if lists and _BETWEEN.fullmatch(prompt, lists[-1][2], match.start()):
            listed, start, _ = lists.pop()
            lists.append(([*listed, match[0].casefold()], start, match.end()))
        else:
            lists.append(([match[0].casefold()], match.start(), match.end()))
    edges = [0, *(end for _, _, end in lists)], [*(start for _, start, _ in lists), len(prompt)]
    return [
        (listed, prompt[edges[0][index] : start], prompt[end : edges[1][index + 1]])
        for index, (listed, start, end) in enumerate(lists)
    ]


def _ngrams(text: str) -> tuple[str, ...]:
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    # a dict, not a set: the order of a set, and so the last bit of a sum, changes with the process
    padded = (f" {word} " for word in words)
    return tuple(
        dict.fromkeys(word[at : at + size] for word in padded for size in SIZES for at in range(len(word) - size + 1))
    )
