"""Picks the part of a run's grid that a pilot asks: its first samples under its first wordings.

The run after the pilot asks the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptaudit.plan.cells import Variant
from promptaudit.plan.design import Design
from promptaudit.registry.errors import UsageError
from promptaudit.registry.samples import limited
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

LEAST_SAMPLES, LEAST_WORDINGS = 60, 8
"""Sets the smallest table whose components of variance are worth planning from."""

MOST_REPETITIONS = 2
"""Sets how often a cell is asked so that its noise can be separated from the rest."""


def pilot_design(design: Design) -> Design:
    """Narrows a design to the first 60 samples of each task, chosen as the whole run chooses its own.

    Raises UsageError for a task of fewer samples.
    """
    samples = {}
    for task_id, chosen in design.samples.items():
        if len(chosen.samples) < LEAST_SAMPLES:
            msg = (
                f"--pilot: audit '{design.audit_id}' asks {len(chosen.samples)} samples of task '{task_id}', and a pilot "
                f"{LEAST_SAMPLES} of them; raise samples.limit of the card, or give the task more data; `promptaudit plan "
                f"{design.audit_id} --detect` says what few samples tell"
            )
            raise UsageError(msg)
        own = design.audit.samples.of(task_id).model_copy(update={"limit": LEAST_SAMPLES})
        samples[task_id] = replace(chosen, samples=tuple(limited(chosen.samples, own)))
    return replace(design, samples=samples)


def pilot_variants(design: Design, variants: Sequence[Variant]) -> list[Variant]:
    """Picks the first 8 wordings of each model, task and strategy, the original first, each asked twice at most.

    Paraphrase temperatures take turns, so that each has its first wordings among them; a wording that was made twice
    counts once. Raises UsageError if a model is asked fewer.
    """
    taken: dict[str, Variant] = {}
    keys = dict.fromkeys((model_id, v.task_id, v.strategy) for v in variants for model_id in design.models)
    for model_id, task_id, strategy in keys:
        own = [v for v in variants if (v.task_id, v.strategy) == (task_id, strategy) and v.asks(model_id)]
        first = _distinct(_in_turns(own))[:LEAST_WORDINGS]
        if len(first) < LEAST_WORDINGS:
            msg = (
                f"--pilot: audit '{design.audit_id}' asks model '{model_id}' {len(first)} wordings of task '{task_id}', and a "
                f"pilot {LEAST_WORDINGS} of them; raise rephrasing.variants of the card, or give the task more templates"
            )
            raise UsageError(msg)
        taken |= {v.prompt_variant_id: replace(v, repetitions=v.repetitions[:MOST_REPETITIONS]) for v in first}
    return [taken[v.prompt_variant_id] for v in variants if v.prompt_variant_id in taken]


def refuse_begun(warehouse: Warehouse, audit_run_id: str, design: Design, variants: Sequence[Variant]) -> None:
    """Raises UsageError if a run has asked more than its pilot, of this design and these variants, would."""
    rows = warehouse.read(sql("plan", "landed_beside_pilot"), run=audit_run_id, **_cells(design, variants))
    if rows[0]["n"]:
        msg = (
            f"--pilot: run {audit_run_id} of '{design.audit_id}' has asked more than a pilot already; `promptaudit run "
            f"{design.audit_id}` goes on with it, and with --new --pilot another begins"
        )
        raise UsageError(msg)


def _cells(design: Design, variants: Sequence[Variant]) -> dict[str, list[str]]:
    # as texts that a query can look up
    return {
        "samples": [f"{task} {sample.sample_id}" for task, own in design.samples.items() for sample in own.samples],
        "asks": [f"{v.prompt_variant_id} {repetition}" for v in variants for repetition in v.repetitions],
    }


def _in_turns(variants: Sequence[Variant]) -> list[Variant]:
    # the originals, then the first of each temperature and owner, the second of each, and so on
    places: dict[tuple[float | None, str | None], int] = {}
    turns = []
    for variant in variants:
        of = (variant.paraphrase_temperature, variant.own_of)
        places[of] = places.get(of, 0) + 1
        turns.append((not variant.is_original, places[of]))
    return [variant for _, variant in sorted(zip(turns, variants, strict=True), key=lambda pair: pair[0])]


def _distinct(variants: Sequence[Variant]) -> list[Variant]:
    seen: dict[tuple[str | None, ...], Variant] = {}
    for variant in variants:
        setting = None if variant.is_worded_alone else variant.setting
        seen.setdefault((variant.instruction, variant.answer_schema, setting), variant)
    return list(seen.values())
