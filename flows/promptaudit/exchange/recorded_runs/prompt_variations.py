"""Reads how recorded prompts differ from the original: their kind, their setting, the order of their options."""

from __future__ import annotations

import json
import re
from typing import get_args

import polars as pl

from promptaudit.exchange.recorded_runs.check_rows import VARIANT
from promptaudit.registry.cards import Variation
from promptaudit.registry.errors import DataError, nearest
from promptaudit.system.keys import as_json
from promptaudit.warehouse.rows import frame_of

_PLACE = re.compile(r"[0-9]{1,4}")  # numbers of JSONL come as texts
_KINDS = ("template", *get_args(Variation))
VARIATIONS = ("original", *_KINDS, "crossed")


def is_variation(text: str) -> bool:
    """Checks whether a text names a kind of variation."""
    return text in VARIATIONS


def is_setting(text: str) -> bool:
    """Checks for a JSON object from kinds of variation to what stands in place of the original's."""
    try:
        value = json.loads(text)
        as_json(value).encode()  # half a character is no text to a database
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) <= set(_KINDS)


def check_variations(variants: pl.DataFrame) -> None:
    """Raises DataError naming file and row of the first variant with two kinds or settings, or with an invalid one."""
    for row in variants.iter_rows(named=True):
        named = f"{row['file']} row {row['row']}: variant {row['variant_index']} of task {row['task']!r}"
        for column, is_one in (("variation", is_variation), ("setting", is_setting)):
            texts = row[f"{column}s"]
            if len(texts) > 1:
                msg = f"{named} has {len(texts)} values of '{column}': {texts[0][:40]!r} and {texts[1][:40]!r}"
                raise DataError(msg)
            if texts and not is_one(texts[0]):
                wanted = nearest(texts[0], VARIATIONS) if column == "variation" else "; a JSON object by kind is wanted"
                msg = f"{named}: {column}: {texts[0][:80]!r} is none{wanted}"
                raise DataError(msg)


def option_orders_of(audit_run_id: str, frame: pl.DataFrame, variants: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Builds the rows of raw.option_orders, and for each row of `frame` its own order where it differs from them.

    The order of a variant and sample is the first answer's, where this is not the order of the data. Raises DataError
    naming file and row of an order that is no permutation of the options' places.
    """
    if frame["option_order"].null_count() == frame.height:
        return frame_of("option_orders", []), pl.Series("option_order", [None], dtype=pl.List(pl.Int32)).new_from_index(
            0, frame.height
        )
    ids = variants.select(*VARIANT, "prompt_variant_id")
    frame = frame.join(ids, on=list(VARIANT), how="left", nulls_equal=True, maintain_order="left")
    read: dict[tuple[str, str | None], list[int]] = {}
    orders: dict[tuple[str, str], list[int] | None] = {}
    own: list[list[int] | None] = []
    wanted = ("prompt_variant_id", "sample_id", "option_order", "choices", "file", "row")
    for variant, sample, text, choices, file, row in frame.select(wanted).iter_rows():
        if text and (text, choices) not in read:
            order = _order(text, choices)
            if order is None:
                wanted_here = "the options' places in the data are wanted, from 0, each once"
                msg = f"{file} row {row}: option_order: {wanted_here}, found {text[:80]!r}"
                raise DataError(msg)
            read[text, choices] = order
        order = read[text, choices] if text else None
        first = orders.setdefault((variant, sample), None if _is_of_data(order) else order)
        is_other = order != first and not (first is None and _is_of_data(order))
        own.append((order or list(range(len(first or ())))) if is_other else None)
    rows = [
        {"audit_run_id": audit_run_id, "prompt_variant_id": variant, "sample_id": sample, "option_order": order}
        for (variant, sample), order in orders.items()
        if order is not None
    ]
    return frame_of("option_orders", rows), pl.Series("option_order", own, dtype=pl.List(pl.Int32))


def _is_of_data(order: list[int] | None) -> bool:
    return order is None or order == list(range(len(order)))


def _order(text: str, choices: str | None) -> list[int] | None:
    try:
        order, options = json.loads(text), json.loads(choices or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(order, list) or not all(_PLACE.fullmatch(str(place)) for place in order):
        return None
    places = [int(place) for place in order]
    n = len(options) if isinstance(options, list) else len(places)
    return places if sorted(places) == list(range(n)) else None
