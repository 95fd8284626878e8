"""Rebuilds prompts as they were sent from what has landed: cards, prompt variants and samples, without a data file.

An answer's id is a hash of its run, its cell and exactly what was sent, so every rebuilt prompt is checked against it.
A prompt that cannot be rebuilt, because texts were erased or another version of the code sent it, is None, never a
wrong one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from promptaudit.engines.schema_in_prompt import with_schema
from promptaudit.prompts.messages import TRIED
from promptaudit.prompts.put_samples import Prompter, ShownSample
from promptaudit.prompts.shown_examples import LandedVariant, shown_examples
from promptaudit.registry.cards import ModelCard, TaskCard, Template
from promptaudit.registry.samples import ChosenSamples, Sample
from promptaudit.system.keys import prediction_id, request_sha256, sent_by
from promptaudit.warehouse import Row, rows_as
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.sql import sql

OTHERWISE = "their texts were erased or are not here, or another version of promptaudit put them together"
NOT_THERE = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)
"""Lists what cards and rows raise that this version does not understand, or that came from elsewhere."""


class _Asked(NamedTuple):
    prediction_id: str
    model_id: str
    prompt_variant_id: str
    sample_id: str
    repetition: int


class _SampleRow(NamedTuple):
    task_id: str
    sample_id: str
    input: str | None
    gold_label: str | None
    options: str | None
    reference_answers: str | None
    fields: str | None


class SentPrompts:
    """Rebuilds the prompts of one run from its rows in a warehouse or a copy; without recorded settings, none."""

    def __init__(self, con: Connection, audit_run_id: str) -> None:
        self._con, self._run = con, audit_run_id
        self._source: str | None = None
        self._variants: dict[str, LandedVariant] = {}
        for run in self._rows("audit_runs", "origin", "source"):
            if run["origin"] != "import":  # an import's prompts were sent elsewhere
                self._source = run["source"]
                rows = self._rows("prompt_variants", *(field.name for field in fields(LandedVariant)))
                self._variants = {variant.prompt_variant_id: variant for variant in rows_as(LandedVariant, rows)}
        self._prompters: dict[str, Prompter | None] = {}
        self._sent: dict[str, Mapping[str, object] | None] = {}
        # how many of the requested answers had a prompt that could not be rebuilt as it was sent
        self.n_otherwise = 0

    def shown(self, answers: Sequence[Row]) -> list[ShownSample | None]:
        """Rebuilds how each answer's sample was shown, and in which messages; None if not recorded, or not as sent.

        An answer has `prediction_id`, `model_id`, `prompt_variant_id`, `sample_id` and `repetition`.
        """
        asked = [_Asked(*(answer[name] for name in _Asked._fields)) for answer in answers]
        recorded = [answer for answer in asked if self.is_recorded(answer.prompt_variant_id)]
        samples, with_schemas = self._samples(recorded), self._with_schemas(recorded)
        cells: dict[tuple[str, str], ShownSample | None] = {}
        found: list[ShownSample | None] = []
        for answer in asked:
            variant, sample_id = answer.prompt_variant_id, answer.sample_id
            if not self.is_recorded(variant):
                found.append(None)
                continue
            if (variant, sample_id) not in cells:
                sample = samples.get((self._variants[variant].task_id, sample_id))
                cells[variant, sample_id] = self._put(variant, sample)
            shown = cells[variant, sample_id]
            is_sent = shown is not None and self._is_sent(answer, shown)
            self.n_otherwise += not is_sent
            schema = self._variants[variant].answer_schema
            if shown is not None and schema is not None and answer.prediction_id in with_schemas:
                shown = replace(shown, messages=with_schema(shown.messages, schema))
            found.append(shown if is_sent else None)
        return found

    def is_recorded(self, prompt_variant_id: str) -> bool:
        """Checks whether the variant's setting is recorded, which it is not in imports."""
        variant = self._variants.get(prompt_variant_id)
        return variant is not None and variant.setting is not None

    def _rows(self, table: str, *columns: str) -> list[Row]:
        query = f"select {', '.join(columns)} from raw.{table} where audit_run_id = $run"  # noqa: S608 - names of ours
        return rows_of(self._con, query, run=self._run)

    def _samples(self, answers: Sequence[_Asked]) -> dict[tuple[str, str], Sample | None]:
        keys = {(self._variants[each.prompt_variant_id].task_id, each.sample_id) for each in answers}
        if not keys:
            return {}
        tasks, samples = zip(*keys, strict=True)
        query = sql("prompts", "samples")
        rows = rows_of(self._con, query, run=self._run, task_ids=list(tasks), sample_ids=list(samples))
        return {(row.task_id, row.sample_id): _sample(row) for row in rows_as(_SampleRow, rows)}

    def _with_schemas(self, answers: Sequence[_Asked]) -> set[str]:
        # answers whose prompt showed the schema that they were held to
        wanted = [each for each in answers if self._variants[each.prompt_variant_id].answer_schema is not None]
        ids = [each.prediction_id for each in wanted]
        rows = rows_of(self._con, sql("prompts", "with_schemas"), run=self._run, prediction_ids=ids) if ids else []
        return {row["prediction_id"] for row in rows}

    def _put(self, variant: str, sample: Sample | None) -> ShownSample | None:
        prompter = self._prompter(variant)
        try:
            return None if prompter is None or sample is None else prompter.put(sample)
        except NOT_THERE:
            return None

    def _is_sent(self, answer: _Asked, shown: ShownSample) -> bool:
        sent = self._sent_by(answer.model_id)
        if sent is None:
            return False
        schema = self._variants[answer.prompt_variant_id].answer_schema
        request = request_sha256(sent, shown.messages, answer.repetition, schema)
        return prediction_id(self._run, *answer[1:], request) == answer.prediction_id

    def _prompter(self, variant: str) -> Prompter | None:
        if variant not in self._prompters:
            try:
                self._prompters[variant] = self._prompter_of(self._variants[variant])
            except NOT_THERE:
                self._prompters[variant] = None
        return self._prompters[variant]

    def _prompter_of(self, variant: LandedVariant) -> Prompter:
        card = self._tried if variant.strategy.endswith(TRIED) else None
        template = variant.template
        return Prompter(
            card or self._tasks[variant.task_id],
            self._examples[variant.task_id] if template is None else ChosenSamples((), {}),
            strategy=variant.strategy,
            instruction=variant.instruction or "",
            template=None if template is None else Template.model_validate_json(template),
            setting=variant.setting,
        )

    def _sent_by(self, model_id: str) -> Mapping[str, object] | None:
        if not self._sent:
            for row in self._rows("models", "model_id", "card"):
                try:
                    self._sent[row["model_id"]] = sent_by(ModelCard.model_validate_json(row["card"]))
                except NOT_THERE:
                    self._sent[row["model_id"]] = None
        return self._sent.get(model_id)

    @functools.cached_property
    def _tasks(self) -> dict[str, TaskCard]:
        # since the run opened a card can have changed only in what is not sent
        return {
            row["task_id"]: TaskCard.model_validate_json(row["card"]) for row in self._rows("tasks", "task_id", "card")
        }

    @functools.cached_property
    def _tried(self) -> TaskCard | None:
        # the edited card of a trial's changed arm; None in a run without one
        edited = json.loads(self._source or "{}").get("edited")
        return None if edited is None else TaskCard.model_validate_json(edited)

    @functools.cached_property
    def _examples(self) -> dict[str, ChosenSamples]:
        return {
            task_id: shown_examples(
                card, [variant for variant in self._variants.values() if variant.task_id == task_id]
            )
            for task_id, card in self._tasks.items()
        }


def _sample(row: _SampleRow) -> Sample | None:
    # None if the text has been erased, or its parts cannot be read
    if row.input is None:
        return None
    try:
        others: dict[str, Any] = json.loads(row.fields or "{}")
        options, references = (json.loads(text or "[]") for text in (row.options, row.reference_answers))
    except NOT_THERE:
        return None
    return Sample(row.sample_id, row.input, row.gold_label, others, tuple(options), tuple(references))
