"""Plans a run: which samples, which cells, what is still missing of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.engines import Request
from flows.keys import content_id, prediction_id, request_sha256, sent_by
from flows.prompts import STRUCTURED, dressed, label_block, render, template
from flows.rows import as_json
from flows.warehouse import fetch
from models_registry.cards import AuditCard, ModelCard, TaskCard
from models_registry.errors import CardError
from models_registry.placeholders import placeholders
from models_registry.registry import Entry, Registry
from models_registry.samples import ChosenSamples, Sample, choose_samples

NOT_SENT = {"data", "reader", "refusal_pattern", "level"}  # of a task card: these decide no request


@dataclass(frozen=True, slots=True)
class Variant:
    """One prompt variant of a run."""

    prompt_variant_id: str
    task_id: str
    strategy: str
    paraphrase_temperature: float | None
    variant_index: int
    is_original: bool
    instruction: str
    repetitions: tuple[int, ...]
    answer_schema: str | None = None  # JSON; strategy structured
    reader: str | None = None  # JSON, in place of the task's


@dataclass(frozen=True, slots=True)
class Design:
    """An audit with everything it names looked up and its samples chosen."""

    audit_id: str
    audit: AuditCard
    registry: Registry
    tasks: Mapping[str, TaskCard]
    models: Mapping[str, ModelCard]
    samples: Mapping[str, ChosenSamples]
    fingerprint: str
    plan_fingerprint: str

    def n_samples(self, task_id: str) -> int:
        """How many samples of a task are asked."""
        return len(self.samples[task_id].samples)


def design_checks(registry: Registry, audit_id: str) -> dict[str, dict[str, Entry]]:
    """Every card an audit uses, once what no single card can know is checked: that they fit each other."""
    used = registry.used_by(audit_id)
    audit = registry.audit(audit_id)
    models = registry.models_of(audit_id)
    for name in models:
        base = registry.model(name).of
        if base is not None and base not in models:
            msg = f"{used['models'][name].where(name, 'of')}: '{name}' perturbs '{base}', which audit '{audit_id}' does not ask"
            raise CardError(msg)
    perturbed_last({name: registry.model(name).of for name in models})
    if STRUCTURED in audit.strategies:
        for name in models:
            card = registry.model(name)
            if not card.takes_schemas and card.engine != "recorded":
                where = used["audits"][audit_id].where(audit_id, "strategies", audit.strategies.index(STRUCTURED))
                msg = f"{where}: strategy '{STRUCTURED}' sends a JSON schema, which {card.engine} model '{name}' cannot follow"
                raise CardError(msg)
    if audit.judges:
        msg = f"{used['audits'][audit_id].where(audit_id, 'judges')}: judges are not run by this version"
        raise CardError(msg)
    return used


def design_audit(registry: Registry, audit_id: str) -> Design:
    """Looks everything up that an audit names and chooses its samples; raises CardError or DataError."""
    used = design_checks(registry, audit_id)
    audit = registry.audit(audit_id)
    tasks = {name: registry.task(name) for name in audit.tasks}
    models = {name: registry.model(name) for name in registry.models_of(audit_id)}
    samples = {
        name: choose_samples(
            name, card, registry.data_root(name), audit.samples, with_examples="one_shot" in audit.strategies
        )
        for name, card in tasks.items()
    }
    asked = audit.model_dump(mode="json", include={"strategies", "rephrasing", "repetitions", "samples"})
    decides = [
        as_json(asked),
        *(as_json([name, sent_by(card), _sent_by_base(registry, card)]) for name, card in models.items()),
        *(as_json([name, card.model_dump(mode="json", exclude=NOT_SENT)]) for name, card in tasks.items()),
        *(entry.card.canonical_json() for entry in used["rephrasers"].values()),
        *(as_json([name, dict(chosen.examples)]) for name, chosen in samples.items()),
        *(
            content_id(name, sample.sample_id, sample.text, sample.gold_label, as_json(used_fields(tasks[name], sample)))
            for name, chosen in samples.items()
            for sample in chosen.samples
        ),
        *(_sha256_of_recorded(used["models"][name]) for name in models),
    ]  # fmt: skip
    return Design(
        audit_id=audit_id,
        audit=audit,
        registry=registry,
        tasks=tasks,
        models=models,
        samples=samples,
        fingerprint=registry.fingerprint(audit_id),
        plan_fingerprint=content_id(*decides),
    )


def used_fields(card: TaskCard, sample: Sample) -> dict[str, str]:
    """The other columns of the data that a prompt of the task uses."""
    texts = (card.instruction, card.output_format, *(message.content for message in card.messages))
    names = {name for text in texts for name in placeholders(text)} - {
        "instruction",
        "output_format",
        "labels",
        "input",
    }
    return {name: value for name, value in sample.fields.items() if name in names}


def _sha256_of_recorded(entry: Entry) -> str | None:
    path = entry.card.path if isinstance(entry.card, ModelCard) else None
    found = None if path is None else entry.root / path
    return None if found is None or not found.is_file() else hashlib.sha256(found.read_bytes()).hexdigest()


def _sent_by_base(registry: Registry, card: ModelCard) -> dict[str, object] | None:
    return None if card.of is None else sent_by(registry.model(card.of))


def model_order(design: Design) -> list[list[str]]:
    """The models in rounds: those that perturb another's answers come after it."""
    return perturbed_last({name: card.of for name, card in design.models.items()})


def perturbed_last(bases: Mapping[str, str | None]) -> list[list[str]]:
    """Names in rounds, each after its base; raises CardError where they go in a circle."""
    rounds: list[list[str]] = []
    done: set[str | None] = {None}
    while len(done) <= len(bases):
        ready = [name for name, base in bases.items() if name not in done and base in done]
        if not ready:
            circle = ", ".join(sorted(name for name in bases if name not in done))
            msg = f"models that perturb each other in a circle: {circle}"
            raise CardError(msg)
        rounds.append(ready)
        done.update(ready)
    return rounds


def n_planned(design: Design, variants: Sequence[Variant]) -> int:
    """Cells of a run."""
    cells = sum(len(variant.repetitions) * design.n_samples(variant.task_id) for variant in variants)
    return cells * len(design.models)


def count_landed(warehouse: Path, audit_run_id: str) -> dict[tuple[str, str], int]:
    """Landed cells of a run by model and prompt variant."""
    rows = fetch(
        warehouse,
        "select model_id, prompt_variant_id, count(*) as n from raw.predictions where audit_run_id = ? group by all",
        [audit_run_id],
    )
    return {(row["model_id"], row["prompt_variant_id"]): row["n"] for row in rows}


def missing_requests(
    warehouse: Path, audit_run_id: str, design: Design, model_id: str, variants: Sequence[Variant]
) -> Iterator[Request]:
    """Wanted cells minus landed cells of one model, streamed; variants that share a prefix together."""
    landed = count_landed(warehouse, audit_run_id)
    sent = sent_by(design.models[model_id])
    for variant in variants:
        n_wanted = len(variant.repetitions) * design.n_samples(variant.task_id)
        n_landed = landed.get((model_id, variant.prompt_variant_id), 0)
        if n_landed >= n_wanted:
            continue
        done = _landed_cells(warehouse, audit_run_id, model_id, variant) if n_landed else set()
        card, chosen = dressed(design.tasks[variant.task_id], variant.strategy), design.samples[variant.task_id]
        block, labels = label_block(card, variant.strategy, chosen.examples), card.label_names
        for sample in chosen.samples:
            messages = render(card, variant.instruction, block, sample)
            for repetition in variant.repetitions:
                if (sample.sample_id, repetition) in done:
                    continue
                request = request_sha256(sent, messages, repetition, variant.answer_schema)
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
                    messages=messages,
                    labels=labels,
                    text=sample.text,
                    request_sha256=request,
                    answer_schema=variant.answer_schema,
                )


def _landed_cells(warehouse: Path, audit_run_id: str, model_id: str, variant: Variant) -> set[tuple[str, int]]:
    rows = fetch(
        warehouse,
        "select sample_id, repetition from raw.predictions "
        "where audit_run_id = ? and model_id = ? and prompt_variant_id = ?",
        [audit_run_id, model_id, variant.prompt_variant_id],
    )
    return {(row["sample_id"], row["repetition"]) for row in rows}


def prompt_of(design: Design, task_id: str, strategy: str, instruction: str) -> str:
    """A variant's messages as JSON, the data's placeholders left open."""
    card = dressed(design.tasks[task_id], strategy)
    block = label_block(card, strategy, design.samples[task_id].examples)
    return json.dumps([{"role": r, "content": c} for r, c in template(card, instruction, block)], ensure_ascii=False)


def count_missing(warehouse: Path, audit_run_id: str, design: Design, variants: Sequence[Variant]) -> int:
    """Cells of a run that have not landed."""
    return n_planned(design, variants) - sum(count_landed(warehouse, audit_run_id).values())
