"""Lets SQL call the scoring methods."""

from __future__ import annotations

import json
from functools import lru_cache

import pyarrow as pa

from udfs.reasoning import parted
from udfs.scoring import option_loglikelihood, token_f1
from udfs.scoring.math.equal import MathEqual, MathReading
from udfs.scoring.math.final_answer import boxed_answer
from udfs.scoring.option_letter import OptionReading
from udfs.sql.columns import Column, null_for_nan, row_structs, values_of

MATHEMATICS = MathEqual()
"""The comparison of final answers for a whole build; its worker starts with the first formula and ends with the process."""


def score_token_f1(completion: Column, references: Column) -> Column:
    """Returns the token F1 of each completion, less a reasoning block before its answer, with its best reference."""
    return null_for_nan([token_f1.token_f1(text, known) for text, known in _answers(completion, references)])


def score_math_equal(completion: Column, references: Column) -> Column:
    """Returns whether each completion's final answer equals a reference, and why that is not known."""
    return row_structs(MATHEMATICS.equal_all(_answers(completion, references)), MathReading)


def score_math_boxed(completion: Column, references: Column) -> Column:
    r"""Returns the same of what the last `\boxed{}` or `\fbox{}` holds; a completion without one has no answer."""
    boxes = [(boxed_answer(text), known) for text, known in _answers(completion, references)]
    alone = [("" if box is None else rf"\boxed{{{box}}}", known) for box, known in boxes]
    return row_structs(MATHEMATICS.equal_all(alone), MathReading)


def _answers(completion: Column, references: Column) -> list[tuple[str, list[str]]]:
    pairs = zip(values_of(completion), values_of(references), strict=True)
    return [(parted(text).answer, known or []) for text, known in pairs]


def score_option_loglikelihood(
    method: Column, option_loglikelihoods: Column, token_logprobs: Column, reader: Column
) -> Column:
    """Returns the place of each prediction's likeliest option, and why there is none."""
    columns = (method, option_loglikelihoods, token_logprobs, reader)
    readings = [_weighed(*row) for row in zip(*(values_of(column) for column in columns), strict=True)]
    arrays: list[Column] = [
        pa.array([reading.index for reading in readings], pa.int32()),
        pa.array([reading.reason for reading in readings], pa.string()),
    ]
    return pa.StructArray.from_arrays(arrays, ["option_index", "reason"])


def _weighed(method: str, weights: str | None, top: str | None, reader: str | None) -> OptionReading:
    """By the log-likelihoods of the options where an engine gave them, else by the first token's likeliest."""
    if weights is None:
        if method != "option_loglikelihood" or top is None:
            return OptionReading(None, "no log-likelihoods")
        return option_loglikelihood.from_top_logprobs(option_loglikelihood.first_token(top), _signs(reader))
    options = json.loads(weights)
    nats = [option["nats"] for option in options]
    unit = method.removeprefix("option_loglikelihood").removeprefix("_per_")
    units = [option[f"n_{unit}s"] for option in options] if unit else None
    return option_loglikelihood.from_loglikelihoods(nats, units)


@lru_cache(maxsize=256)
def _signs(reader: str | None) -> tuple[str, ...]:
    read_by = json.loads(reader) if reader else None
    return tuple(read_by.get("option_letter", ())) if isinstance(read_by, dict) else ()
