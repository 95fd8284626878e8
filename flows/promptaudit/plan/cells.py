"""Plans a run: which cells there are, what is sent for each, and which are still missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from promptaudit.engines import Request
from promptaudit.plan.design import Design
from promptaudit.prompts.put_samples import Prompter
from promptaudit.prompts.templates import answers_to_weigh, question_of
from promptaudit.registry.cards import WORDED_ALONE, Template
from promptaudit.registry.samples import Sample
from promptaudit.system.keys import prediction_id, request_sha256, sent_by
from promptaudit.warehouse import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Describes one prompt variant of a run."""

    prompt_variant_id: str
    task_id: str
    strategy: str
    paraphrase_temperature: float | None
    variant_index: int
    is_original: bool
    instruction: str
    repetitions: tuple[int, ...]
    answer_schema: str | None = None  # JSON; strategy structured
    template: str | None = None  # JSON; of multiple-choice and open tasks
    reader: str | None = None  # JSON, in place of the task's
    variation: str | None = None  # in which respect it differs from the original
    setting: str | None = None  # JSON: kind of variation to what it has in place of the original's
    model_ids: tuple[str, ...] | None = (
        None  # the models that are asked, the model that reworded it for itself first; None: every model
    )
    dealt: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Maps a repetition to the ids of the samples that it asks; a repetition that is missing asks all."""

    @property
    def own_of(self) -> str | None:
        """Names the model that reworded it for itself; None if every model is asked."""
        return self.model_ids[0] if self.model_ids else None

    @property
    def is_worded_alone(self) -> bool:
        """Checks whether it differs from the original in its wording or its template at most."""
        return self.variation in WORDED_ALONE

    def asks(self, model_id: str) -> bool:
        """Checks whether it is asked of a model."""
        return self.model_ids is None or model_id in self.model_ids

    def samples_of(self, repetition: int, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Picks the samples that a repetition asks from samples of its task, in their order."""
        if repetition not in self.dealt:
            return samples
        own = frozenset(self.dealt[repetition])
        return [sample for sample in samples if sample.sample_id in own]

    def n_cells(self, design: Design) -> int:
        """Counts the cells that it has for one model."""
        samples = design.samples[self.task_id].samples
        return sum(len(self.samples_of(repetition, samples)) for repetition in self.repetitions)


def n_planned_of(design: Design, variants: Sequence[Variant], model_id: str) -> int:
    """Counts the cells that a run has of one model."""
    return sum(variant.n_cells(design) for variant in variants if variant.asks(model_id))


def count_landed(warehouse: Warehouse, audit_run_id: str) -> dict[tuple[str, str], int]:
    """Counts the landed cells of a run, by model and prompt variant."""
    rows = warehouse.read(
        "select model_id, prompt_variant_id, count(*) as n from raw.predictions where audit_run_id = $audit_run_id group by all",
        audit_run_id=audit_run_id,
    )
    return {(row["model_id"], row["prompt_variant_id"]): row["n"] for row in rows}


class LandedCells(Protocol):
    """Knows the cells of a run that have an answer."""

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Counts them by model and prompt variant."""

    def cells(self, model_id: str, prompt_variant_id: str) -> set[tuple[str, int]]:
        """Lists the cells of a model and prompt variant as (sample, repetition)."""


class CellsInWarehouse:
    """Reads which cells of a run have landed in its warehouse."""

    def __init__(self, warehouse: Warehouse, audit_run_id: str) -> None:
        self._warehouse, self._run = warehouse, audit_run_id

    def counts(self) -> dict[tuple[str, str], int]:
        """Counts them by model and prompt variant."""
        return count_landed(self._warehouse, self._run)

    def cells(self, model_id: str, prompt_variant_id: str) -> set[tuple[str, int]]:
        """Lists the cells of a model and prompt variant as (sample, repetition)."""
        rows = self._warehouse.read(
            "select sample_id, repetition from raw.predictions "
            "where audit_run_id = $audit_run_id and model_id = $model_id and prompt_variant_id = $prompt_variant_id",
            audit_run_id=self._run,
            model_id=model_id,
            prompt_variant_id=prompt_variant_id,
        )
        return {(row["sample_id"], row["repetition"]) for row in rows}


def missing_requests(
    landed_cells: LandedCells, audit_run_id: str, design: Design, model_id: str, variants: Sequence[Variant]
) -> Iterator[Request]:
    """Yields requests for one model's wanted cells that have not landed; variants that share a prefix come together.

    All samples are asked once before any is asked again. Otherwise a disturbance of consecutive requests (a server that
    is updated, another replica) would hit all repetitions of one cell, and look like agreement between them.
    """
    landed = landed_cells.counts()
    sent = sent_by(design.models[model_id])
    for variant in variants:
        if not variant.asks(model_id):
            continue
        n_landed = landed.get((model_id, variant.prompt_variant_id), 0)
        if n_landed >= variant.n_cells(design):
            continue
        done = landed_cells.cells(model_id, variant.prompt_variant_id) if n_landed else set()
        card, samples = design.tasks[variant.task_id], design.samples[variant.task_id].samples
        template, prompter = template_of(variant), prompter_of(design, variant)
        for repetition in variant.repetitions:
            for sample in variant.samples_of(repetition, samples):
                if (sample.sample_id, repetition) in done:
                    continue
                shown = prompter.put(sample)
                request = request_sha256(sent, shown.messages, repetition, variant.answer_schema)
                yield Request(
                    prediction_id=prediction_id(
                        audit_run_id, model_id, variant.prompt_variant_id, sample.sample_id, repetition, request
                    ),
                    model_id=model_id,
                    task_id=variant.task_id,
                    strategy=variant.strategy,
                    prompt_variant_id=variant.prompt_variant_id,
                    paraphrase_temperature=variant.paraphrase_temperature,
                    variant_index=variant.variant_index,
                    sample_id=sample.sample_id,
                    repetition=repetition,
                    messages=shown.messages,
                    labels=card.label_names,
                    text=shown.sample.text,
                    request_sha256=request,
                    answer_schema=variant.answer_schema,
                    setting=variant.setting,
                    question=question_of(card, shown.sample, template, shown.option_order),
                    replies=()
                    if template is None
                    else answers_to_weigh(card, shown.sample, template, shown.option_order),
                )


def prompter_of(design: Design, variant: Variant) -> Prompter:
    """Makes the prompter that puts samples into a variant's messages."""
    return Prompter(
        design.card_of(variant.task_id, variant.strategy),
        design.samples[variant.task_id],
        strategy=variant.strategy,
        instruction=variant.instruction,
        template=template_of(variant),
        setting=variant.setting,
    )


def template_of(variant: Variant) -> Template | None:
    """Reads the template of a variant of a multiple-choice or open task; None for other variants."""
    return None if variant.template is None else Template.model_validate_json(variant.template)


def missing_by_model(
    warehouse: Warehouse, audit_run_id: str, design: Design, variants: Sequence[Variant]
) -> dict[str, int]:
    """Counts by model the cells of these variants that have not landed in a run."""
    landed = count_landed(warehouse, audit_run_id)
    sizes = {variant.prompt_variant_id: variant.n_cells(design) for variant in variants}
    return {
        model_id: sum(
            max(0, sizes[variant.prompt_variant_id] - landed.get((model_id, variant.prompt_variant_id), 0))
            for variant in variants
            if variant.asks(model_id)
        )
        for model_id in design.models
    }
