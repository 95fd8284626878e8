"""Computes POSIX: how far the likelihood of a model's answers moves between prompts that mean the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.sql_function import sql_function


def posix(nats: NDArray[np.float64], n_tokens: NDArray[np.float64]) -> float:
    r"""Computes the prompt sensitivity index of one sample, in nats a token, from 0 up.

    1 / (Q (Q - 1)) sum over i and j of | log P(y_j | x_i) - log P(y_j | x_j) | / L_j: y_j is the model's answer to
    prompt x_j, here the option that it finds likeliest, as each prompt writes it, and L_j is its number of tokens. The
    index is 0 where every prompt leaves the answers as likely as they were.

    Two prompts, two options of one token: log-likelihoods (-.1, -2.4) and (-1.1, -.4). The first answers 0, the second
    1: (|-1.1 - -.1| + |-2.4 - -.4|) / 2 = (1 + 2) / 2 = 1.5.

    Args:
        nats: shape (Q, C), log-likelihood of each option as the reply to each prompt. A prompt that lacks one, or finds
            two options likeliest alike, has no answer and is left out.
        n_tokens: shape (Q, C), tokens of each option as the reply to each prompt.

    Returns:
        NaN where fewer than two prompts are left.

    Source:
        Chatterjee et al. 2024, POSIX: A Prompt Sensitivity Index For Large Language Models, equation 1. The authors'
        own code (kowndinya-renduchintala/POSIX, posix.py at 96077d0, MIT) takes the mean over samples of the same sum
        of ordered pairs over Q (Q - 1), but in each pair subtracts the log-likelihoods of y_i and y_j under the one
        prompt x_j, and divides by the number of tokens that it asked for (max_new_tokens) where the equation has the
        answer's length.
    """
    is_known = np.isfinite(nats).all(axis=1) & (n_tokens > 0).all(axis=1)
    nats, n_tokens = nats[is_known], n_tokens[is_known]
    is_sure = (nats == nats.max(axis=1, keepdims=True, initial=-np.inf)).sum(axis=1) == 1
    nats, n_tokens = nats[is_sure], n_tokens[is_sure]
    q = len(nats)
    if q < 2:
        return np.nan
    answer = nats.argmax(axis=1)
    own = nats[np.arange(q), answer]
    moved = np.abs(nats[:, answer] - own) / n_tokens[np.arange(q), answer]
    return float(moved.sum() / (q * (q - 1)))


@sql_function("posix")
def posix_of(landed: Sequence[str | None]) -> float:
    """Computes `posix` from the texts of `raw.predictions.option_loglikelihoods`, one for each prompt or None.

    Prompts with another number of options than the first are left out, and so are those without counts of tokens, such
    as the records of other programs.
    """
    tables: list[list[Any]] = []
    for text in landed:
        options = [] if text is None else json.loads(text)
        if options and (not tables or len(options) == len(tables[0])):
            tables.append([(_number(option["nats"]), _number(option.get("n_tokens"))) for option in options])
    if len(tables) < 2:
        return np.nan
    table = np.array(tables, np.float64)
    return posix(table[:, :, 0], table[:, :, 1])


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
