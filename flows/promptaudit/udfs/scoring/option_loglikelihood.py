"""Finds the option that a model gives the highest probability, from log-probabilities instead of its words.

There are two sources: the log-likelihood of each option as the whole reply (`from_loglikelihoods`), and, where an
engine gives no more, the likeliest first tokens of the answer that was given (`first_token`, `from_top_logprobs`).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from promptaudit.udfs.readers.option_letter import OptionReading
from promptaudit.udfs.sql_function import sql_function

NO_LOGLIKELIHOODS = "no log-likelihoods"
NO_OPTION = "no option among the top tokens"
TIE = "tie"

# how byte-pair and SentencePiece tokenizers write a leading blank, and the former a line end
_BLANKS = " \t\r\n\u00a0\u0120\u2581\u010a"
_AROUND = _BLANKS + "()[]{}<>\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"

_DECODER = json.JSONDecoder()


class LikeliestOption(NamedTuple):
    """The place of the option that a model finds likeliest, or the reason why there is none."""

    option_index: int | None
    reason: str | None


@sql_function()
def likeliest_option(
    method: str, option_loglikelihoods: str | None, token_logprobs: str | None, reader: str | None
) -> LikeliestOption:
    """Finds the likeliest option: by the options' log-likelihoods where an engine gave them, else by first tokens.

    Args:
        method: the scoring method; after `_per_` the unit that log-likelihoods are divided by.
        option_loglikelihoods: JSON as `raw.predictions` stores it, like the next two.
        token_logprobs: of the tokens of the answer that was given.
        reader: how the answer is read: with the signs of the options.
    """
    if option_loglikelihoods is not None:
        options = json.loads(option_loglikelihoods)
        unit = method.removeprefix("option_loglikelihood").removeprefix("_per_")
        units = [option[f"n_{unit}s"] for option in options] if unit else None
        return LikeliestOption(*from_loglikelihoods([option["nats"] for option in options], units))
    if method != "option_loglikelihood" or token_logprobs is None:
        return LikeliestOption(None, NO_LOGLIKELIHOODS)
    return LikeliestOption(*from_top_logprobs(first_token(token_logprobs), _signs(reader)))


@functools.lru_cache(maxsize=256)
def _signs(reader: str | None) -> tuple[str, ...]:
    read_by = json.loads(reader) if reader else None
    return tuple(read_by.get("option_letter", ())) if isinstance(read_by, dict) else ()


def from_loglikelihoods(nats: Sequence[float | None], n_units: Sequence[int] | None = None) -> OptionReading:
    """Picks the option of the largest log-likelihood, or of the largest per unit.

    Args:
        nats: of each option, its log-likelihood as the reply, 0 at most; -inf is a value: such a reply is impossible.
        n_units: of each option, its tokens or characters, 1 at least; None compares the log-likelihoods as they are,
            which favours short options.

    Returns:
        The option; or "no log-likelihoods" where there are none or one is missing (None, NaN, no unit to divide by),
        "tie" where the two largest are equal.

    Raises:
        ValueError: `nats` and `n_units` differ in length.
    """
    if n_units is not None and len(n_units) != len(nats):
        message = f"every option needs its log-likelihood and its units, got {len(nats)} and {len(n_units)}"
        raise ValueError(message)
    units = [1] * len(nats) if n_units is None else n_units
    each = [None if value is None or n < 1 else value / n for value, n in zip(nats, units, strict=True)]
    values = {option: value for option, value in enumerate(each) if value is not None and not math.isnan(value)}
    if not values or len(values) < len(nats):
        return OptionReading(None, NO_LOGLIKELIHOODS)
    return _largest(values)


def from_top_logprobs(top: Mapping[str, float], enumerators: Sequence[str]) -> OptionReading:
    """Picks the option whose sign is the likeliest first token.

    Args:
        top: the likeliest tokens and their log-probabilities in nats, as `first_token` gives them. A token is a sign's
            when it equals it without white space, a tokenizer's mark for it, quotes and brackets; else when it does but
            for its case, and no other sign's. The probabilities of one sign's tokens ("B", " B", "(b") are added up.
        enumerators: the signs in the options' order.

    Returns:
        The option; or "no option among the top tokens", "tie" where the two likeliest are equal.
    """
    exact: dict[str, int] = {}
    folded: dict[str, set[int]] = {}
    for index, sign in enumerate(enumerators):
        if sign.strip():
            exact.setdefault(sign.strip(), index)
            folded.setdefault(sign.strip().casefold(), set()).add(index)
    nats: dict[int, list[float]] = {}
    for token, value in top.items():
        option = _sign_of(token, exact, folded)
        if option is not None and not math.isnan(value):
            nats.setdefault(option, []).append(value)
    if not nats:
        return OptionReading(None, NO_OPTION)
    return _largest({index: _log_sum(values) for index, values in nats.items()})


def first_token(token_logprobs: str) -> dict[str, float]:
    """Lists the likeliest tokens at the place of the first non-blank token, with log-probabilities in nats.

    Args:
        token_logprobs: as `raw.predictions.token_logprobs` keeps it: a JSON array with `token`, `logprob` and
            `top_logprobs` (an array of `token` and `logprob`) of each token. The tokens behind the one that is read are
            not parsed, so that a long completion takes as little time as a short one.

    Returns:
        The tokens of `top_logprobs` that have a text and a finite number, with the token itself; equal texts of
        different tokens are added up. Empty for anything else than such an array, and where every token is blank.
    """
    try:
        place, opening = _after_blanks(token_logprobs, 0), "["
        while token_logprobs[place] == opening:
            token, place = _DECODER.raw_decode(token_logprobs, _after_blanks(token_logprobs, place + 1))
            if token["token"].strip(_BLANKS):
                others = [other for other in token["top_logprobs"] if other["token"] != token["token"]]
                return _nats_by_text([token, *others])
            place, opening = _after_blanks(token_logprobs, place), ","
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return {}


def _after_blanks(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place


def _nats_by_text(tokens: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    nats: dict[str, list[float]] = {}
    for token in tokens:
        text, value = token["token"], token["logprob"]
        if isinstance(text, str) and isinstance(value, (int, float)) and math.isfinite(value):
            nats.setdefault(text, []).append(float(value))
    return {text: _log_sum(values) for text, values in nats.items()}


def _sign_of(token: str, exact: Mapping[str, int], folded: Mapping[str, set[int]]) -> int | None:
    # a sign may have brackets of its own
    forms = (token.strip(_BLANKS), token.strip(_AROUND))
    for form in forms:
        if form in exact:
            return exact[form]
    for form in forms:
        options = folded.get(form.casefold(), ())
        if len(options) == 1:
            return next(iter(options))
    return None


def _log_sum(nats: Sequence[float]) -> float:
    # the logarithm of the sum of probabilities, without leaving the range of floats
    largest = max(nats)
    if len(nats) == 1 or math.isinf(largest):
        return largest
    return largest + math.log(sum(math.exp(value - largest) for value in nats))


def _largest(values: Mapping[int, float]) -> OptionReading:
    largest = max(values.values())
    options = [option for option, value in values.items() if value == largest]
    return OptionReading(options[0], None) if len(options) == 1 else OptionReading(None, TIE)
