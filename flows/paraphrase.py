"""Makes the prompt variants of a run, or finds those that an earlier run made, and lands them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flows.editing import read_prompts
from flows.engines import Engine, open_engine
from flows.keys import prompt_variant_id
from flows.plan import Design, Variant, prompt_of
from flows.rephrasers import Rephraser, Wording
from flows.rephrasers.keep import why_refused
from flows.rephrasers.select import open_rephraser
from flows.rows import frame_of
from flows.warehouse import fetch, land
from flows.wordings import Proposal, protected, rephrasing_key
from models_registry.cards import ModelCard
from models_registry.tables import escape


@dataclass(frozen=True, slots=True)
class Paraphrased:
    """The variants of a run, and what there is to say about how they came about."""

    variants: tuple[Variant, ...]
    notes: tuple[str, ...]


def paraphrase(
    warehouse: Path, audit_run_id: str, design: Design, *, anew: bool = False, prompts: Path | None = None
) -> Paraphrased:
    """The run's variants: as landed by this run, from a person's file, as an earlier run made them, or made now."""
    landed = _landed_variants(warehouse, audit_run_id)
    edited = None if prompts is None else read_prompts(prompts, design)
    variants: list[Variant] = []
    notes: list[str] = []
    for task_id in design.tasks:
        mine = [variant for variant in landed if variant.task_id == task_id]
        if not mine:
            key = rephrasing_key(design, task_id)
            proposals = edited[task_id] if edited else None
            if proposals is None and not anew:
                proposals = _made_before(warehouse, key)
            if proposals is None:
                proposals = make_proposals(design, task_id)
            notes += _shortfalls(design, task_id, proposals)
            # a task at a time: rewordings may have been paid for
            mine = _landed_now(warehouse, audit_run_id, design, task_id, proposals, key)
        variants += mine
    return Paraphrased(tuple(variants), tuple(notes))


def _landed_now(  # noqa: PLR0913 - one task's share
    warehouse: Path, audit_run_id: str, design: Design, task_id: str, proposals: Sequence[Proposal], key: str
) -> list[Variant]:
    rows, variants = [], []
    for strategy in design.audit.strategies:
        for proposal in proposals:
            variant = _as_variant(design, task_id, strategy, proposal)
            rows.append(_row(audit_run_id, design, variant, proposal, key))
            if proposal.refused_because is None:
                variants.append(variant)
    land(warehouse, [("prompt_variants", frame_of("prompt_variants", rows))])
    return variants


def make_proposals(design: Design, task_id: str) -> list[Proposal]:
    """Asks the audit's rephraser for a task's wordings; the original comes first."""
    instruction = design.tasks[task_id].instruction
    proposals = [Proposal(None, 0, instruction)]
    rephrasing = design.audit.rephrasing
    if rephrasing is None:
        return proposals
    groups: list[tuple[float | None, int]]
    if rephrasing.temperatures is not None:
        groups = [(t, rephrasing.variants_per_temperature or 0) for t in rephrasing.temperatures]
    else:
        groups = [(None, (rephrasing.variants or 1) - 1)]
    card = design.registry.rephraser(rephrasing.rephraser)
    wording = Wording(task_id, instruction, protected(design, task_id))

    async def propose() -> None:
        rephraser = open_rephraser(card, _engine_at(design, card.model))
        try:
            for temperature, wanted in groups:
                proposals.extend(await _proposed(rephraser, wording, temperature, wanted))
        finally:
            await rephraser.close()

    asyncio.run(propose())
    return _numbered(proposals)


def _engine_at(design: Design, model: str | None) -> Callable[[float | None], Engine]:
    def open_at(temperature: float | None) -> Engine:
        entry = design.registry.entry("models", model or "")
        card = entry.card
        if isinstance(card, ModelCard):
            # the card's cap fits a label, not a list of rewordings
            warmth = card.sampling.temperature if temperature is None else temperature
            sampling = card.sampling.model_copy(
                update={"temperature": warmth, "max_tokens": None, "max_completion_tokens": None}
            )
            card = card.model_copy(update={"sampling": sampling})
        return open_engine(replace(entry, card=card))

    return open_at


async def _proposed(rephraser: Rephraser, wording: Wording, temperature: float | None, wanted: int) -> list[Proposal]:
    """Distinct, kept rewordings at one temperature; what is missing is asked for again a bounded number of times."""
    seen = {_folded(wording.instruction)}
    kept: list[Proposal] = []
    refused: list[Proposal] = []
    for round_ in range(rephraser.max_rounds):
        if len(kept) >= wanted:
            break
        for text in await rephraser.rephrase(wording, wanted - len(kept), temperature, round_):
            instruction = escape(text.strip())[0]
            if _folded(instruction) in seen or len(kept) >= wanted:
                continue
            seen.add(_folded(instruction))
            reason = why_refused(wording.instruction, instruction, wording.protected)
            (refused if reason else kept).append(Proposal(temperature, 0, instruction, refused_because=reason))
    return kept + refused


def _folded(text: str) -> str:
    return " ".join(text.split())


def _numbered(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Indices from 0 up for what is asked, from -1 down for what is refused."""
    numbered, n_kept, n_refused = [], 0, 0
    for proposal in proposals:
        if proposal.refused_because is None:
            numbered.append(replace(proposal, variant_index=n_kept))
            n_kept += 1
        else:
            n_refused += 1
            numbered.append(replace(proposal, variant_index=-n_refused))
    return numbered


def _shortfalls(design: Design, task_id: str, proposals: Sequence[Proposal]) -> list[str]:
    rephrasing = design.audit.rephrasing
    if rephrasing is None:
        return []
    wanted = rephrasing.variants_per_temperature or (rephrasing.variants or 1) - 1
    temperatures: Sequence[float | None] = rephrasing.temperatures or (None,)
    notes = []
    for temperature in temperatures:
        mine = [p for p in proposals if p.variant_index != 0 and p.paraphrase_temperature == temperature]
        n_kept = sum(p.refused_because is None for p in mine)
        if n_kept < wanted:
            at = "" if temperature is None else f" at paraphrase temperature {temperature:g}"
            n_refused = len(mine) - n_kept
            notes.append(f"task '{task_id}': {n_kept} of {wanted} distinct rephrasings{at}, {n_refused} refused")
    return notes


def _as_variant(design: Design, task_id: str, strategy: str, proposal: Proposal) -> Variant:
    is_original = proposal.variant_index == 0
    asked = design.audit.repetitions.original if is_original else design.audit.repetitions.variants
    return Variant(
        prompt_variant_id=prompt_variant_id(
            task_id, strategy, proposal.paraphrase_temperature, proposal.variant_index, proposal.instruction
        ),
        task_id=task_id,
        strategy=strategy,
        paraphrase_temperature=proposal.paraphrase_temperature,
        variant_index=proposal.variant_index,
        is_original=is_original,
        instruction=proposal.instruction,
        repetitions=() if proposal.refused_because else tuple(range(1, asked + 1)),
    )


def _row(audit_run_id: str, design: Design, variant: Variant, proposal: Proposal, key: str) -> dict[str, object]:
    rephrasing = design.audit.rephrasing
    return {
        "audit_run_id": audit_run_id,
        "prompt_variant_id": variant.prompt_variant_id,
        "task_id": variant.task_id,
        "strategy": variant.strategy,
        "paraphrase_temperature": variant.paraphrase_temperature,
        "variant_index": variant.variant_index,
        "is_original": variant.is_original,
        "is_edited": proposal.is_edited,
        "instruction": variant.instruction,
        "output_format": design.tasks[variant.task_id].output_format,
        "prompt": prompt_of(design, variant.task_id, variant.strategy, variant.instruction),
        "repetitions": list(variant.repetitions),
        "rephraser_id": None if rephrasing is None or variant.is_original else rephrasing.rephraser,
        "rephrasing_key": key,
        "refused_because": proposal.refused_because,
    }


def _landed_variants(warehouse: Path, audit_run_id: str) -> list[Variant]:
    rows = fetch(
        warehouse,
        "select prompt_variant_id, task_id, strategy, paraphrase_temperature, variant_index, is_original, instruction, "
        "repetitions from raw.prompt_variants where audit_run_id = ? and refused_because is null "
        "order by task_id, strategy, variant_index",
        [audit_run_id],
    )
    return [Variant(**{**row, "repetitions": tuple(row["repetitions"])}) for row in rows]


def _made_before(warehouse: Path, key: str) -> list[Proposal] | None:
    """The wordings of the newest run that used the same instruction and rephraser, a person's edits among them."""
    rows = fetch(
        warehouse,
        "with newest as (select variants.audit_run_id, variants.strategy from raw.prompt_variants as variants "
        "inner join raw.audit_runs as runs using (audit_run_id) where variants.rephrasing_key = ? "
        "order by runs.started_at desc, variants.strategy limit 1) "
        "select paraphrase_temperature, variant_index, instruction, is_edited, refused_because "
        "from raw.prompt_variants inner join newest using (audit_run_id, strategy) where rephrasing_key = ? "
        "order by refused_because is not null, abs(variant_index)",
        [key, key],
    )
    return [Proposal(**row) for row in rows] or None


def same_wordings(warehouse: Path, audit_run_id: str, edited: Mapping[str, Sequence[Proposal]]) -> bool:
    """Whether a run asks exactly these wordings."""
    asked = {
        (v.task_id, v.paraphrase_temperature, v.variant_index, v.instruction)
        for v in _landed_variants(warehouse, audit_run_id)
    }
    wanted = {
        (task_id, p.paraphrase_temperature, p.variant_index, p.instruction)
        for task_id, ps in edited.items()
        for p in ps
    }
    return asked == wanted
