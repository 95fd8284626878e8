"""A zero-shot classifier without weights: which label's surroundings in the prompt look most like the input.

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

from flows.engines import Request
from flows.engines.draws import choice
from flows.engines.embedded import Annotate
from models_registry.cards import ModelCard

SIZES = (2, 3, 4)
WINDOW = 40  # words looked at on each side of a mention
DECAY = 0.97  # of a word's weight by each word nearer to the mention
NEW_LINE = 0.3  # of the weight by each line break in between
OWN_NAME = 2.0  # weight of the label's own words
LONG_INPUT = 20  # characters; shorter inputs may be words of the prompt itself
_WORD = re.compile(r"\w+|\n")


def lexical_annotator(card: ModelCard) -> Annotate:
    """Answers with a label as the prompt spells it; the same for every repetition. A tie goes to a label by seed and sample."""
    profile = functools.lru_cache(maxsize=512)(label_profiles)
    grams = functools.lru_cache(maxsize=8192)(_ngrams)

    def annotate(request: Request) -> str:
        prompt = "\n".join(without_input(content, request.text) for _, content in request.messages)
        vocabulary, weights = profile(prompt, request.labels)
        rows = [row for gram in grams(request.text) if (row := vocabulary.get(gram)) is not None]
        scores = weights[rows].sum(axis=0)
        best = [label for label, score in zip(request.labels, scores, strict=True) if score >= scores.max() - 1e-12]
        return best[0] if len(best) == 1 else choice(best, "lexical", card.seed, request.sample_id)

    return annotate


def without_input(content: str, text: str) -> str:
    """The message without the sample's input: every occurrence of a long one, the last whole one of a short one."""
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
    """N-gram to row, and the (n-grams, labels) weights whose columns are unit vectors (zero for a label without any).

    A gram weighs 1 + log of its summed weight in a profile, times the log of how few profiles hold it: what stands around
    every label tells them apart by nothing.
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
    mentions = _mentions(prompt, tuple(labels))
    for index, (start, end, mentioned) in enumerate(mentions):
        if mentioned != label.casefold():
            continue
        before = prompt[mentions[index - 1][1] if index else 0 : start]
        after = prompt[end : mentions[index + 1][0] if index + 1 < len(mentions) else len(prompt)]
        for words in (_WORD.findall(before)[::-1], _WORD.findall(after)):
            weight = 1.0
            for word in words[:WINDOW]:
                weight *= NEW_LINE if word == "\n" else DECAY
                for gram in _ngrams(word):
                    profile[gram] += weight
    return profile


@functools.lru_cache(maxsize=512)
def _mentions(prompt: str, labels: tuple[str, ...]) -> list[tuple[int, int, str]]:
    # the longest first, so that "person of note" is not a mention of "person"
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    found = re.finditer(rf"(?<!\w)(?:{names})(?!\w)", prompt, re.IGNORECASE)
    return [(match.start(), match.end(), match[0].casefold()) for match in found]


def _ngrams(text: str) -> tuple[str, ...]:
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    # a dict, not a set: the order of a set, and so the last bit of a sum, changes with the process
    padded = (f" {word} " for word in words)
    return tuple(
        dict.fromkeys(word[at : at + size] for word in padded for size in SIZES for at in range(len(word) - size + 1))
    )
