"""Makes the prompt variants of a run, or finds those that an earlier run made, and lands them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flows.engines import Engine, open_engine
from flows.keys import content_id, prompt_variant_id, sent_by
from flows.plan import Design, Variant, prompt_of
from flows.rephrasers import Rephraser, Wording
from flows.rephrasers.keep import why_refused
from flows.rephrasers.select import open_rephraser
from flows.rows import as_json, frame_of
from flows.warehouse import fetch, land
from models_registry.cards import ModelCard
from models_registry.errors import DataError, nearest
from models_registry.placeholders import placeholders
from models_registry.tables import escape, read_text_table


@dataclass(frozen=True, slots=True)
class Proposal:
    """A wording of one task's instruction; the original is variant 0, refused ones count down from -1."""

    paraphrase_temperature: float | None
    variant_index: int
    instruction: str
    is_edited: bool = False
    refused_because: str | None = None


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
    if landed:
        return Paraphrased(tuple(landed), ())
    edited = None if prompts is None else read_prompts(prompts, design)
    rows, variants, notes = [], [], []
    for task_id in design.tasks:
        key = rephrasing_key(design, task_id)
        proposals = None if edited is None else edited[task_id]
        if proposals is None and not anew:
            proposals = _made_before(warehouse, key)
        if proposals is None:
            proposals = make_proposals(design, task_id)
        notes += _shortfalls(design, task_id, proposals)
        for strategy in design.audit.strategies:
            for proposal in proposals:
                variant = _as_variant(design, task_id, strategy, proposal)
                rows.append(_row(audit_run_id, design, variant, proposal, key))
                if proposal.refused_because is None:
                    variants.append(variant)
    land(warehouse, [("prompt_variants", frame_of("prompt_variants", rows))])
    return Paraphrased(tuple(variants), tuple(notes))


def rephrasing_key(design: Design, task_id: str) -> str:
    """What decides a task's variants: the instruction, what must be kept, the rephraser and how many are wanted."""
    rephrasing = design.audit.rephrasing
    card = design.tasks[task_id]
    decides: list[str | None] = [task_id, card.instruction, as_json(protected(design, task_id))]
    if rephrasing is not None:
        rephraser = design.registry.rephraser(rephrasing.rephraser)
        asked = None if rephraser.model is None else as_json(sent_by(design.registry.model(rephraser.model)))
        decides += [rephrasing.canonical_json(), rephraser.canonical_json(), asked]
    return content_id("rephrasing", *decides)


def protected(design: Design, task_id: str) -> tuple[str, ...]:
    """What a rephrasing of a task must keep: labels, placeholders, the card's own words."""
    card = design.tasks[task_id]
    braces = [f"{{{name}}}" for name in placeholders(card.instruction)]
    return tuple(dict.fromkeys([*card.label_names, *braces, *card.protected]))


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
            sampling = card.sampling.model_copy(update={"temperature": warmth, "max_tokens": None})
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


# ---------------------------------------------------------------- a person's edits
EDITABLE = ("task", "paraphrase_temperature", "variant_index", "instruction", "made")


def export_prompts(proposals: Mapping[str, Sequence[Proposal]], path: Path) -> int:
    """Writes the wordings that would be asked as CSV or JSONL for a person to edit; returns how many."""
    import polars as pl

    rows = [
        {
            "task": task_id,
            "paraphrase_temperature": p.paraphrase_temperature,
            "variant_index": p.variant_index,
            "instruction": p.instruction,
            "made": content_id(p.instruction)[:12],
        }
        for task_id, wordings in proposals.items()
        for p in wordings
        if p.refused_because is None
    ]
    frame = pl.DataFrame(rows, schema_overrides={"paraphrase_temperature": pl.Float64})
    try:
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            frame.write_ndjson(path)
        else:
            frame.write_csv(path)
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror or error}"
        raise DataError(msg) from None
    return len(rows)


def read_prompts(path: Path, design: Design) -> dict[str, list[Proposal]]:
    """The wordings of a person's file; one whose text is not what was exported is marked edited."""
    frame = read_text_table(path)
    for column in EDITABLE[:4]:
        if column not in frame.columns:
            msg = f"{path}: no column '{column}'{nearest(column, frame.columns)}"
            raise DataError(msg)
    found: dict[str, list[Proposal]] = {task_id: [] for task_id in design.tasks}
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        where = f"{path} row {number}"
        if row["task"] not in found:
            msg = f"{where}: task {row['task']!r} is not in the audit{nearest(row['task'] or '', found)}"
            raise DataError(msg)
        proposal = _edited(where, row)
        card = design.tasks[row["task"]]
        reason = why_refused(card.instruction, proposal.instruction, protected(design, row["task"]))
        if reason:
            msg = f"{where}: the wording is refused: {reason}"
            raise DataError(msg)
        if any(
            (p.paraphrase_temperature, p.variant_index) == (proposal.paraphrase_temperature, proposal.variant_index)
            for p in found[row["task"]]
        ):
            msg = f"{where}: variant {proposal.variant_index} of task {row['task']!r} stands twice"
            raise DataError(msg)
        found[row["task"]].append(proposal)
    for task_id, proposals in found.items():
        if not any(p.variant_index == 0 for p in proposals):
            msg = f"{path}: task {task_id!r} has no variant 0, the original"
            raise DataError(msg)
    return found


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


def _edited(where: str, row: Mapping[str, str | None]) -> Proposal:
    try:
        index = int(row["variant_index"] or "")
        temperature = float(row["paraphrase_temperature"]) if row["paraphrase_temperature"] else None
        if index < 0 or (temperature is not None and not (math.isfinite(temperature) and temperature >= 0)):
            raise ValueError  # noqa: TRY301 - one message for both
    except ValueError:
        msg = f"{where}: variant_index is a whole number from 0, paraphrase_temperature a number from 0 or nothing"
        raise DataError(msg) from None
    instruction = (row["instruction"] or "").strip()
    is_edited = row.get("made") != content_id(instruction)[:12]
    return Proposal(temperature, index, instruction, is_edited=is_edited)
