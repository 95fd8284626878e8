"""Token F1 (being written)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

VERSION: int = 1


def _tokens(text: str) -> Counter[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if not (c.isalnum() or c.isspace()) else c for c in folded)
    return Counter(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def token_f1(completion: str, references: Sequence[str]) -> float:
    """F1 over tokens."""
    said = _tokens(completion)
    best = float("nan")
    for reference in references:
        known = _tokens(reference)
        common = (said & known).total()
        total = said.total() + known.total()
        score = 1.0 if total == 0 else 2 * common / total
        best = score if best != best else max(best, score)
    return best
