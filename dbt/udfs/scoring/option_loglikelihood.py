"""Log-likelihoods (being written)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from udfs.scoring.option_letter import OptionReading

VERSION: int = 1


def from_loglikelihoods(nats: Sequence[float | None], n_units: Sequence[int] | None) -> OptionReading:
    """The likeliest."""
    values = [float(n or 0) / (n_units[i] if n_units else 1) for i, n in enumerate(nats)]
    return OptionReading(max(range(len(values)), key=values.__getitem__), None)


def from_top_logprobs(top: Mapping[str, float], enumerators: Sequence[str]) -> OptionReading:
    """The likeliest."""
    found = {s: top[s] for s in enumerators if s in top}
    return OptionReading(None, "no option among the top tokens") if not found else OptionReading(list(enumerators).index(max(found, key=found.get)), None)  # type: ignore[arg-type]


def first_token(token_logprobs: str) -> dict[str, float]:
    """Tokens."""
    return {}
