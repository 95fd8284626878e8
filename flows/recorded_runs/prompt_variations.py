"""Reads in which respect recorded prompts differ from the original: their kind, their setting, the order of their options."""

from __future__ import annotations

import json
import re
from typing import get_args

import polars as pl

from flows.recorded_runs.check_rows import VARIANT
from flows.system.keys import as_json
from flows.warehouse.rows import frame_of
from models_registry.cards import Variation
from models_registry.errors import DataError, nearest

_PLACE = re.compile(r"[0-9]{1,4}")  # numbers of JSONL come as texts
_KINDS = ("template", *get_args(Variation))
VARIATIONS = ("original", *_KINDS, "crossed")


def is_variation(text: str) -> bool:
    """Returns whether a text names a respect in which prompts differ."""
    return text in VARIATIONS


def is_setting(text: str) -> bool:
    """Returns whether a text is a JSON object of kinds of variation to what stands in place of the original's."""
    try:
        value = json.loads(text)
        as_json(value).encode()  # half a character is no text to a database
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) <= set(_KINDS)


def check_variations(variants: pl.DataFrame) -> None:
    """Raises DataError naming file and row of the first variant with two kinds or settings, or with one that is none."""
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


def option_orders_of(audit_run_id: str, frame: pl.DataFrame, variants: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of raw.option_orders: what `option_order` has of a variant and sample, where it is not the data's order.

    Raises DataError naming file and row of an order that is no permutation of the options' places, or of a second one.
    """
    ids = variants.select(*VARIANT, "prompt_variant_id")
    wanted = (*VARIANT, "sample_id", "option_order", "choices")
    told = frame.filter(pl.col("option_order").is_not_null() & (pl.col("option_order") != ""))
    told = told.unique(subset=wanted, keep="first", maintain_order=True)
    told = told.join(ids, on=list(VARIANT), how="left", nulls_equal=True, maintain_order="left")
    orders: dict[tuple[str, str], list[int]] = {}
    for row in told.iter_rows(named=True):
        place = f"{row['file']} row {row['row']}: option_order"
        order = _order(row["option_order"], row["choices"])
        if order is None:
            msg = f"{place}: the options' places in the data are wanted, from 0, each once, found {row['option_order'][:80]!r}"
            raise DataError(msg)
        key = (row["prompt_variant_id"], row["sample_id"])
        if orders.setdefault(key, order) != order:
            msg = f"{place}: {order} and {orders[key]} of one variant and sample {row['sample_id']!r}"
            raise DataError(msg)
    rows = [
        {"audit_run_id": audit_run_id, "prompt_variant_id": variant, "sample_id": sample, "option_order": order}
        for (variant, sample), order in orders.items()
        if order != list(range(len(order)))
    ]
    return frame_of("option_orders", rows)


def _order(text: str, choices: str | None) -> list[int] | None:
    """Returns the places that a JSON list names, each of the options once; None for anything else."""
    try:
        order, options = json.loads(text), json.loads(choices or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(order, list) or not all(_PLACE.fullmatch(str(place)) for place in order):
        return None
    places = [int(place) for place in order]
    n = len(options) if isinstance(options, list) else len(places)
    return places if sorted(places) == list(range(n)) else None
