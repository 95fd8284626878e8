"""Checks the log-likelihoods of options in recorded predictions, kept as `raw.predictions.option_loglikelihoods`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import DataError

_PER_TOKEN = "option_loglikelihood_per_token"  # noqa: S105 - a scoring method
_ROUNDING = 1e-6
_WANTED = "a JSON list is wanted with an object an option: nats (0 or less), n_characters"


def check_loglikelihoods(frame: pl.DataFrame, cards: Mapping[str, TaskCard]) -> None:
    """Raises DataError for the first value that is no list of an object per option with what scoring needs.

    The error names file and row.
    """
    column = "option_loglikelihoods"
    for task, card in cards.items():
        own = frame.filter(pl.col("task") == task)
        listed = own.select("sample_id", pl.col("choices").drop_nulls().first().over("sample_id")).unique()
        rows = own.filter(pl.col(column).is_not_null()).drop("choices").join(listed, on="sample_id", how="left")
        units = ("n_characters", *(("n_tokens",) if _PER_TOKEN in card.scoring_methods else ()))
        for row in rows.unique(subset=[column, "choices"], keep="first", maintain_order=True).iter_rows(named=True):
            if not _is_one(row[column], row["choices"], units):
                more = ", n_tokens" if len(units) > 1 else ""
                msg = f"{row['file']} row {row['row']}: {column}: {_WANTED}{more}; found {row[column][:80]!r}"
                raise DataError(msg)


def _is_one(text: str, choices: str | None, units: tuple[str, ...]) -> bool:
    try:
        options, texts = json.loads(text), json.loads(choices or "null")
    except (ValueError, RecursionError):
        return False
    if not isinstance(options, list) or not options or (isinstance(texts, list) and len(texts) != len(options)):
        return False
    return all(isinstance(option, dict) and _is_weighed(option, units) for option in options)


def _is_weighed(option: Mapping[str, Any], units: tuple[str, ...]) -> bool:
    counts = [name for name in (*units, "n_tokens") if name in units or option.get(name) is not None]
    nats = option.get("nats", "")
    # minus infinity is a value; rounding may leave a little more than none
    is_known = nats is None or (type(nats) in (int, float) and nats <= _ROUNDING)
    return is_known and all(type(option.get(name)) is int and option[name] >= 0 for name in counts)
