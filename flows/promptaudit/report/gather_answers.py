"""Gathers the answers of a grid from the published marts, for the samples whose answers differ most."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptaudit.prompts.as_sent import NOT_THERE, SentPrompts
from promptaudit.prompts.variations import is_of_each_sample
from promptaudit.report.queries import query
from promptaudit.system.display.figures import LONG
from promptaudit.system.display.policy import MOST_IN_ALL, Texts
from promptaudit.warehouse import Row
from promptaudit.warehouse.duckdb_file import Connection, frame_of_rows, rows_of

if TYPE_CHECKING:
    import polars as pl

MOST_ANSWERS = 150_000  # some 13 bytes each in a page
MOST_COUNTED = 5_000  # samples of a group without sensitivities, whose distinct answers are counted
MOST_FIELDS = 20_000  # characters of the columns that a prompt puts in


@dataclass(frozen=True, slots=True, kw_only=True)
class GridAnswers:
    """The answers that a grid may hold. Ranks number the samples from 0, the largest disagreement first."""

    samples: list[Row]  # a row a rank
    answers: pl.DataFrame  # sorted by rank, prompt variant and repetition
    inputs: list[Row]
    variants: list[Row]
    shown: list[Row] = field(default_factory=list)
    """How samples were shown under a variant, where it differed from the data, in the order of the ranks."""
    is_shown_whole: bool = True  # whether `shown` has all cells whose sent prompts are known


def gather_answers(con: Connection, audit_run_id: str, texts: Texts) -> GridAnswers:
    """Gathers answers to the most sensitive samples of each model, task and strategy. `texts` limits their length."""
    run = {"run": audit_run_id}
    samples = rows_of(con, query("grid_samples"), **run, most_answers=MOST_ANSWERS, most_counted=MOST_COUNTED)
    lists = {"task_ids": "task_id", "sample_ids": "sample_id", "model_ids": "model_id", "strategies": "strategy"}
    of_samples = {names: [row[name] for row in samples] for names, name in lists.items()}
    keys = {names: of_samples[names] for names in ("task_ids", "sample_ids")}
    cut = {"long": texts.long, "short": LONG, "most_characters": MOST_IN_ALL}
    answers = frame_of_rows(con, query("grid_answers"), {**run, **of_samples, **cut})
    variants = rows_of(con, query("grid_variants"), **run)
    shown, is_shown_whole = gather_shown(con, audit_run_id, texts, samples=samples, answers=answers, variants=variants)
    return GridAnswers(
        samples=samples,
        answers=answers,
        inputs=rows_of(con, query("grid_inputs"), **run, **keys, long=texts.long + 1, most_fields=MOST_FIELDS),
        variants=variants,
        shown=shown,
        is_shown_whole=is_shown_whole,
    )


MOST_CELLS = 10_000  # some 50 to 200 microseconds each
MOST_CHARACTERS = 4_000_000  # of their texts, which deflate to a third or less
AT_ONCE = 1_000


def changes_each_sample(variant: Row) -> bool:
    """Checks whether a variant shows each sample in its own way, beyond filling the open placeholders of its messages.

    Imported variants may have a kind (`variation`) without a setting.
    """
    setting = variant["setting"]
    if setting is None:
        return variant["variation"] in ("option_order", "label_order", "input_noise", "crossed")
    try:
        return is_of_each_sample(json.loads(setting))
    except NOT_THERE:  # a copy may be another person's
        return False


def gather_shown(
    con: Connection,
    audit_run_id: str,
    texts: Texts,
    *,
    samples: Sequence[Row],
    answers: pl.DataFrame,
    variants: Sequence[Row],
) -> tuple[list[Row], bool]:
    """Gathers how samples were shown in the answers of a grid, as many cells as a page may have room for.

    Gives the cells, and whether they are all.
    """
    changed = {row["prompt_variant_id"] for row in variants if changes_each_sample(row)}
    changed -= {row["prompt_variant_id"] for row in variants if texts.of(row["task_id"]) == "none"}
    if not changed:
        return [], True
    sent, cells, n_characters = SentPrompts(con, audit_run_id), list[Row](), 0
    asked = _first_answers(samples, answers, changed)
    n_asked = 0
    while n_asked < min(len(asked), MOST_CELLS) and n_characters < MOST_CHARACTERS:
        some = asked[n_asked : n_asked + AT_ONCE]
        n_asked += len(some)
        for answer, shown in zip(some, sent.shown(some), strict=True):
            if shown is not None:
                text = shown.sample.text[: texts.long + 1]
                n_characters += len(text)
                as_shown = {"text": text, "option_order": shown.option_order, "labels": shown.labels}
                cells.append({**answer, **as_shown})
    return cells, n_asked == len(asked)


def _first_answers(samples: Sequence[Row], answers: pl.DataFrame, variants: Collection[str]) -> list[Row]:
    # one answer per sample and variant, from any model, in the order of the ranks
    wanted = answers.filter(answers["prompt_variant_id"].is_in(list(variants)))
    first: dict[tuple[str, str, str], Row] = {}
    for row in wanted.select("rank", "prompt_variant_id", "repetition", "prediction_id").iter_rows(named=True):
        of = samples[row["rank"]]
        key = (of["task_id"], of["sample_id"], row["prompt_variant_id"])
        if key not in first:
            first[key] = {**row, **{name: of[name] for name in ("model_id", "task_id", "sample_id")}}
    return list(first.values())
