"""Gathers how samples were shown under variants that show each in its own way: with noise, options or labels in another order."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptaudit.prompts.as_sent import NOT_THERE, SentPrompts
from promptaudit.prompts.variations import is_of_each_sample
from promptaudit.system.display.policy import Texts
from promptaudit.warehouse import Row
from promptaudit.warehouse.duckdb_file import Connection

if TYPE_CHECKING:
    import polars as pl

MOST_CELLS = 10_000  # some 50 to 200 microseconds each
MOST_CHARACTERS = 4_000_000  # of their texts, which deflate to a third or less
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCell:
    """How a sample was shown under a variant: what of it was otherwise than in the data."""

    task_id: str
    sample_id: str
    prompt_variant_id: str
    text: str
    option_order: tuple[int, ...]
    labels: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCells:
    """Such cells, in the order of a grid's ranks; `is_whole` where they are all whose prompts are known as they were sent."""

    cells: tuple[ShownCell, ...] = ()
    is_whole: bool = True


def changes_each_sample(variant: Row) -> bool:
    """Returns whether a variant shows each sample in its own way, so that its messages with open placeholders are not all of it.

    Imports may say of what kind a variant is without its setting.
    """
    setting = variant["setting"]
    if setting is None:
        return variant["variation"] in ("option_order", "label_order", "input_noise", "crossed")
    try:
        return is_of_each_sample(json.loads(setting))
    except NOT_THERE:  # what stands in a copy may be somebody else's
        return False


def gather_shown(
    con: Connection,
    audit_run_id: str,
    texts: Texts,
    *,
    samples: Sequence[Row],
    answers: pl.DataFrame,
    variants: Sequence[Row],
) -> ShownCells:
    """Returns how samples were shown in the answers of a grid, as many cells as a page may have room for."""
    changed = {row["prompt_variant_id"] for row in variants if changes_each_sample(row)}
    changed -= {row["prompt_variant_id"] for row in variants if texts.of(row["task_id"]) == "none"}
    if not changed:
        return ShownCells()
    sent, cells, n_characters = SentPrompts(con, audit_run_id), list[ShownCell](), 0
    asked = _first_answers(samples, answers, changed)
    n_asked = 0
    while n_asked < len(asked) and n_asked < MOST_CELLS and n_characters < MOST_CHARACTERS:
        some = asked[n_asked : n_asked + AT_ONCE]
        n_asked += len(some)
        for answer, shown in zip(some, sent.shown(some), strict=True):
            if shown is None:
                continue
            text = shown.sample.text[: texts.long + 1]
            n_characters += len(text)
            cells.append(
                ShownCell(
                    task_id=answer["task_id"],
                    sample_id=answer["sample_id"],
                    prompt_variant_id=answer["prompt_variant_id"],
                    text=text,
                    option_order=shown.option_order,
                    labels=shown.labels,
                )
            )
    return ShownCells(cells=tuple(cells), is_whole=n_asked == len(asked))


def _first_answers(samples: Sequence[Row], answers: pl.DataFrame, variants: Collection[str]) -> list[Row]:
    """One answer to each sample under each of these variants, whichever model gave it, in the order of the ranks."""
    wanted = answers.filter(answers["prompt_variant_id"].is_in(list(variants)))
    first: dict[tuple[str, str, str], Row] = {}
    for row in wanted.select("rank", "prompt_variant_id", "repetition", "prediction_id").iter_rows(named=True):
        of = samples[row["rank"]]
        key = (of["task_id"], of["sample_id"], row["prompt_variant_id"])
        if key not in first:
            first[key] = {**row, **{name: of[name] for name in ("model_id", "task_id", "sample_id")}}
    return list(first.values())
