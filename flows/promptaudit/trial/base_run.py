"""Reads the run that a trial starts from, from the published copy: its task card, prompt variants and samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from promptaudit.query.diagnosis.diagnose import diagnose
from promptaudit.registry.cards import WORDED_ALONE, TaskCard
from promptaudit.registry.errors import DataError, UsageError, nearest, refuse_unknown
from promptaudit.registry.samples import Sample
from promptaudit.registry.task_cards import INSTRUCTED
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import resolve
from promptaudit.warehouse.sql import sql

_RUN = "select origin, format_limits from raw.audit_runs where audit_run_id = $run"
_MODELS = "select model_id, card from raw.models where audit_run_id = $run order by model_id"
_SAMPLES = (
    "select sample_id, input, gold_label, reference_answers, fields, cluster from raw.samples "
    "where audit_run_id = $run and task_id = coalesce($task, task_id) order by task_id, sample_index"
)

Place = tuple[str | None, float | None, int]
"""Whose own wording a variant is, its paraphrase temperature and its index."""


class PromptVariant(NamedTuple):
    """A row of raw.prompt_variants."""

    audit_run_id: str
    prompt_variant_id: str
    task_id: str
    strategy: str
    paraphrase_temperature: float | None
    variant_index: int
    is_original: bool
    is_edited: bool
    instruction: str
    output_format: str | None
    prompt: str | None
    answer_schema: str | None
    template: str | None
    reader: str | None
    repetitions: list[int]
    rephraser_id: str | None
    rephrasing_key: str | None
    refused_because: str | None
    model_ids: list[str] | None
    variation: str | None
    setting: str | None

    @property
    def place(self) -> Place:
        """Gives its place among the variants of its task and strategy."""
        return self.model_ids[0] if self.model_ids else None, self.paraphrase_temperature, self.variant_index

    def is_asked_of(self, model_id: str) -> bool:
        """Checks whether a model is asked it."""
        return not self.model_ids or model_id in self.model_ids


class _SampleRow(NamedTuple):
    sample_id: str
    input: str | None
    gold_label: str | None
    reference_answers: str | None  # JSON, as fields
    fields: str | None
    cluster: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """One task of a complete run of an audit: its card, models, prompt variants and samples."""

    audit_run_id: str
    audit_id: str
    task_id: str
    card: TaskCard
    models: dict[str, str]  # id to card, JSON
    variants: tuple[PromptVariant, ...]
    samples: dict[str, Sample]  # by id, in order
    format_limits: str
    has_other_kinds: bool = False  # variants that differ in another respect than their wording, which no trial asks

    @property
    def strategies(self) -> tuple[str, ...]:
        """Lists the strategies of its variants, in order."""
        return tuple(dict.fromkeys(row.strategy for row in self.variants))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleChoice:
    """The samples a trial asks, and the models and strategies it is narrowed to (None: all).

    n_fresh: in place of `sample_ids`, this many samples of the task's data that the run did not ask.
    is_every: all samples are asked, so that none was chosen for its answers.
    """

    task_id: str
    sample_ids: tuple[str, ...]
    model: str | None
    strategy: str | None
    n_fresh: int = 0
    is_every: bool = False


EVERY = "all"


def base_run(warehouse: Warehouse, audit: str) -> tuple[str, str]:
    """Finds id and audit of an audit's newest complete run, or of a named one.

    Raises UsageError for an import or a trial.
    """
    named = resolve(warehouse, audit)
    (run,) = warehouse.published.read(_RUN, run=named.audit_run_id)
    if run["origin"] != "run":
        what = "an import" if run["origin"] == "import" else "a trial itself"
        msg = f"run {named.audit_run_id} is {what}: name an audit that was run"
        raise UsageError(msg)
    return named.audit_run_id, named.audit_id


# samples are ranked by a column of `sensitivities.sql`; the sign says whether more of it is worse
_RANKED = {"worst": ("sensitivity", 1), "least_consistent": ("mean_consistency", -1)}
# an extraction has instead, for each sample, the share of answers that are right in all fields
_RANKED_BY_FIELDS = {**_RANKED, "worst": ("accuracy", -1)}


def choose(
    warehouse: Warehouse, run: str, wanted: str, *, task: str | None, model: str | None, strategy: str | None
) -> SampleChoice:
    """Finds the samples that `--on` names.

    `worst:N` (most sensitive; in an extraction most often wrong), `least_consistent:N`, `group:K` of diagnose under
    these options, `fresh:N`, `all`, or ids with commas.
    """
    kind, _, value = wanted.partition(":")
    if kind == "group" and value:
        return _group(warehouse, run, _number(wanted, value), task=task, model=model, strategy=strategy)
    tasks = [row["task_id"] for row in warehouse.published.read(sql("trial", "tasks"), run=run)]
    refuse_unknown("--task", task, tasks, f"run {run} has none of that name")
    if kind in (*_RANKED, "fresh") and value:
        n, task_id = _number(wanted, value), _only(task, tasks)
        if kind == "fresh":
            return SampleChoice(task_id=task_id, sample_ids=(), model=model, strategy=strategy, n_fresh=n)
        return _worst(warehouse, run, kind, n, task_id=task_id, model=model, strategy=strategy)
    only = _only(task, tasks) if wanted == EVERY else task
    known = {row["sample_id"]: None for row in warehouse.published.read(_SAMPLES, run=run, task=only)}
    if only is not None and wanted == EVERY and EVERY not in known:
        return SampleChoice(task_id=only, sample_ids=tuple(known), model=model, strategy=strategy, is_every=True)
    ids = [wanted] if wanted in known else [part.strip() for part in wanted.split(",") if part.strip()]
    for each in ids:
        if each not in known:
            wanted = "worst:N, least_consistent:N, group:K, fresh:N, all or ids are wanted"
            msg = f"--on {each[:80]}: run {run} has no such sample; {wanted}{nearest(each, known)}"
            raise UsageError(msg)
    return SampleChoice(
        task_id=_only(task, tasks), sample_ids=tuple(dict.fromkeys(ids)), model=model, strategy=strategy
    )


def read_base(warehouse: Warehouse, run: str, audit_id: str, chosen: SampleChoice) -> Base:
    """Reads the chosen task of a base run. Raises UsageError for an unknown name or a task that cannot be tried."""
    cards = {row["task_id"]: row["card"] for row in warehouse.published.read(sql("trial", "tasks"), run=run)}
    card = TaskCard.model_validate_json(cards[chosen.task_id])
    if card.kind not in INSTRUCTED:
        why = "its prompts are whole templates, with no instruction to add to"
        msg = f"task '{chosen.task_id}' is {card.kind}: {why}; edit them in their card and run the audit"
        raise UsageError(msg)
    models = {row["model_id"]: row["card"] for row in warehouse.published.read(_MODELS, run=run)}
    why = f"run {run} has none of that name"
    refuse_unknown("--model", chosen.model, models, why)
    landed = rows_as(PromptVariant, warehouse.published.read(sql("trial", "variants"), run=run))
    every = [variant for variant in landed if variant.task_id == chosen.task_id]
    variants = [variant for variant in every if variant.variation in WORDED_ALONE]
    refuse_unknown("--strategy", chosen.strategy, {variant.strategy for variant in variants}, why)
    samples = rows_as(_SampleRow, warehouse.published.read(_SAMPLES, run=run, task=chosen.task_id))
    wanted = set(chosen.sample_ids)
    (run_row,) = warehouse.published.read(_RUN, run=run)
    return Base(
        audit_run_id=run,
        audit_id=audit_id,
        task_id=chosen.task_id,
        card=card,
        models=models,
        variants=tuple(variant for variant in variants if chosen.strategy in (None, variant.strategy)),
        samples={row.sample_id: _sample(row) for row in samples if row.sample_id in wanted},
        format_limits=run_row["format_limits"],
        has_other_kinds=len(variants) < len(every),
    )


def _sample(row: _SampleRow) -> Sample:
    if row.input is None:
        msg = f"sample {row.sample_id[:80]!r}: its text is not in the warehouse any more"
        raise DataError(msg)
    references = tuple(json.loads(row.reference_answers or "[]"))
    fields = json.loads(row.fields or "{}")
    return Sample(row.sample_id, row.input, row.gold_label, fields, (), references, row.cluster)


def _group(
    warehouse: Warehouse, run: str, place: int, *, task: str | None, model: str | None, strategy: str | None
) -> SampleChoice:
    groups = diagnose(warehouse, run, task=task, model=model, strategy=strategy).groups
    if place > len(groups):
        msg = f"--on group:{place}: `promptaudit diagnose` with the same options finds {len(groups)} groups"
        raise UsageError(msg)
    of = groups[place - 1]
    return SampleChoice(task_id=of.task_id, sample_ids=of.sample_ids, model=of.model_id, strategy=of.strategy)


def _worst(
    warehouse: Warehouse, run: str, kind: str, n: int, *, task_id: str, model: str | None, strategy: str | None
) -> SampleChoice:
    # by the kind's figure, on average over the chosen models and strategies
    figures: dict[str, list[float]] = {}
    rows = warehouse.published.read(sql("trial", "sensitivities"), run=run)
    is_of_fields = any(row["task_id"] == task_id and row["accuracy"] is not None for row in rows)
    column, sign = (_RANKED_BY_FIELDS if is_of_fields else _RANKED)[kind]
    for option, name, value in (("model", "model_id", model), ("strategy", "strategy", strategy)):
        refuse_unknown(f"--{option}", value, {row[name] for row in rows}, f"run {run} has none of that name")
        rows = [row for row in rows if value in (None, row[name])]
    for row in rows:
        if row["task_id"] == task_id and row[column] is not None:
            figures.setdefault(row["sample_id"], []).append(sign * row[column])
    if not figures:
        msg = f"--on {kind}:{n}: run {run} has no {column.replace('_', ' ')} for task '{task_id}'; name samples by their ids"
        raise UsageError(msg)
    ranked = sorted(figures, key=lambda sample: (-sum(figures[sample]) / len(figures[sample]), sample))
    return SampleChoice(task_id=task_id, sample_ids=tuple(ranked[:n]), model=model, strategy=strategy)


def _number(wanted: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value[:9]) > 0):
        msg = f"--on {wanted[:80]}: a whole number from 1 is wanted after the colon"
        raise UsageError(msg)
    return int(value[:9])


def _only(task: str | None, tasks: Sequence[str]) -> str:
    if task is None and len(tasks) > 1:
        msg = f"--task: the run has several, name one: {', '.join(tasks)}"
        raise UsageError(msg)
    return tasks[0] if task is None else task
