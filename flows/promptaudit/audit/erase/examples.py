"""Erases rows that no run asked from the prompts that show them as solved examples, the only place they landed in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from promptaudit.evidence.blanks import GONE
from promptaudit.prompts.as_sent import NOT_THERE
from promptaudit.prompts.put_samples import json_of
from promptaudit.prompts.shown_examples import LandedVariant, examples_in, with_texts
from promptaudit.registry.cards import TaskCard
from promptaudit.warehouse import rows_as
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.sql import sql

CARDS = "select audit_run_id, task_id, card from raw.tasks order by recorded_at"
Cards = Mapping[tuple[str, str], str]


class SampleOfRun(NamedTuple):
    """Holds a sample of one run and task, with its texts.

    Texts are None if nobody knows them. `goes_on`: the run is not finished and asks on.
    """

    audit_run_id: str
    task_id: str
    sample_id: str
    input: str | None
    options: str | None
    reference_answers: str | None
    fields: str | None
    goes_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownIn(LandedVariant):
    audit_run_id: str
    goes_on: bool


def shown_rows(con: Connection, sample_id: str, task_id: str | None) -> list[SampleOfRun]:
    """Finds a data row that prompts show as an example: one result for each run and task.

    `input` is None if the row's text cannot be located in any of the prompts, or has been erased.
    """
    rows: dict[tuple[str, str], SampleOfRun] = {}
    variants = _variants(con, sample_id, task_id)
    cards = _cards(con) if variants else {}
    for variant in variants:
        key = (variant.audit_run_id, variant.task_id)
        if key not in rows or not rows[key].input:
            text = _text(cards, variant, sample_id)
            rows[key] = SampleOfRun(*key, sample_id, text, None, None, None, variant.goes_on)
    return list(rows.values())


def blank_examples(con: Connection, sample_id: str, task_id: str | None) -> list[str]:
    """Takes the row's text out of prompts that show it, in raw and the marts; returns the run of each changed prompt.

    If the text cannot be located in a prompt, all that the messages of the prompt say is taken out.
    """
    variants, runs = _variants(con, sample_id, task_id), []
    cards = _cards(con) if variants else {}
    for variant in variants:
        prompt = _without(cards, variant, sample_id)
        if prompt in (None, variant.prompt):
            continue
        for table in (each["name"] for each in rows_of(con, sql("audit.erase", "tables_of_prompts"))):
            con.execute(
                f"update {table} set prompt = $prompt where audit_run_id = $run and prompt_variant_id = $variant",  # noqa: S608 - ours
                {"prompt": prompt, "run": variant.audit_run_id, "variant": variant.prompt_variant_id},
            )
        runs.append(variant.audit_run_id)
    return runs


def _variants(con: Connection, sample_id: str, task_id: str | None) -> list[_ShownIn]:
    return rows_as(_ShownIn, rows_of(con, sql("audit.erase", "examples"), sample=sample_id, task=task_id))


def _cards(con: Connection) -> Cards:
    return {(row["audit_run_id"], row["task_id"]): row["card"] for row in rows_of(con, CARDS)}


def _card(cards: Cards, variant: _ShownIn) -> TaskCard:
    return TaskCard.model_validate_json(cards[variant.audit_run_id, variant.task_id])


def _text(cards: Cards, variant: _ShownIn, sample_id: str) -> str | None:
    try:
        shown = examples_in(_card(cards, variant), variant).spare
    except NOT_THERE:
        return None
    return next((row.text for row in shown if row.sample_id == sample_id and row.text != GONE), None)


def _without(cards: Cards, variant: _ShownIn, sample_id: str) -> str | None:
    # None if the prompt does not hold the text
    try:
        return with_texts(_card(cards, variant), variant, {sample_id: GONE})
    except NOT_THERE:
        return _blanked(variant.prompt)


def _blanked(prompt: str | None) -> str | None:
    try:
        messages: list[dict[str, Any]] = json.loads(prompt or "[]")
        roles = [str(message["role"]) for message in messages]
    except NOT_THERE:
        return GONE
    return json_of(tuple((role, GONE) for role in roles)) if roles else prompt
