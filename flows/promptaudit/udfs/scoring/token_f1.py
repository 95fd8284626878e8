"""Scores the words that a completion shares with a reference answer, by SQuAD's F1.

Texts are compared as bags of tokens after SQuAD's normalisation, extended to any script: compatibility forms become one
(NFKC), then lower case, punctuation dropped and not replaced ("U.S." is "us"), split at white space, and without the
articles a, an and the. Text beyond the first `MAX_READ_CHARACTERS` is not read, since such a text is no short answer.
"""

from __future__ import annotations

import functools
import math
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.sql_function import sql_function

MAX_READ_CHARACTERS = 100_000

# Python orders combining marks by insertion: one run of 80,000 takes 4.5 s, a text's worth would take minutes
_NORMALISED_AT_ONCE = 1_000

_ARTICLES = frozenset(("a", "an", "the"))
_ASCII_PUNCTUATION = string.punctuation.encode()


class _Punctuation(dict[int, int | None]):
    # str.translate drops Unicode's punctuation, and the other signs of ASCII ("$", "+"), which SQuAD counts too
    def __missing__(self, code: int) -> int | None:
        return None if unicodedata.category(chr(code)).startswith("P") else code


_PUNCTUATION = _Punctuation({code: None if code in _ASCII_PUNCTUATION else code for code in range(128)})


class _Bag(NamedTuple):
    n_tokens: int
    counts: Mapping[str, int]


@sql_function("token_f1")
def token_f1_of_answer(completion: str, references: Sequence[str]) -> float:
    """Computes `token_f1` of a completion, without a reasoning block before its answer.

    Example:
        One of two words is the reference's, and all of the reference is there:

        >>> round(token_f1_of_answer("The river Nile", ["Nile"]), 3)
        0.667
    """
    return token_f1(parted(completion).answer, references)


def token_f1(completion: str, references: Sequence[str]) -> float:
    """Computes 2 n_shared / (n_completion + n_reference) in tokens, for the reference that gives most.

    Args:
        completion: any text.
        references: the right answers, any of which will do.

    Returns:
        In [0, 1]; 1 for equal bags of tokens, empty ones too; 0 where one of the two is empty; NaN without a reference.

    Source:
        Rajpurkar et al. 2016, SQuAD: 100,000+ Questions for Machine Comprehension of Text, section 6.1.
    """
    tokens = _tokens(completion)
    return max((_f1(tokens, _bag(reference)) for reference in references), default=math.nan)


def normalised(text: str) -> str:
    """Writes the normalised tokens of a text with a blank between them; an empty text where there are none."""
    return " ".join(_tokens(text))


def _f1(tokens: Sequence[str], reference: _Bag) -> float:
    if not tokens or not reference.n_tokens:
        return float(len(tokens) == reference.n_tokens)
    left, n_shared = dict(reference.counts), 0
    for token in tokens:
        if left.get(token):
            left[token] -= 1
            n_shared += 1
    return 2 * n_shared / (len(tokens) + reference.n_tokens)


@functools.lru_cache(maxsize=1024)  # a reference is compared with the answers of every variant
def _bag(reference: str) -> _Bag:
    tokens = _tokens(reference)
    return _Bag(len(tokens), Counter(tokens))


def _tokens(text: str) -> list[str]:
    text = text[:MAX_READ_CHARACTERS]
    if text.isascii():
        plain = text.lower().encode().translate(None, _ASCII_PUNCTUATION).decode()
    else:
        starts = range(0, len(text), _NORMALISED_AT_ONCE)
        parts = (unicodedata.normalize("NFKC", text[start : start + _NORMALISED_AT_ONCE]) for start in starts)
        # cut again: one character can become eighteen
        plain = "".join(parts)[:MAX_READ_CHARACTERS].lower().translate(_PUNCTUATION)
    return [token for token in plain.split() if token not in _ARTICLES]
