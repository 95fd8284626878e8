"""Chooses parts of a run's grid: a pilot's first samples and wordings, and the samples that are asked a second time.

The run after a pilot asks the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptaudit.plan.cells import Variant
from promptaudit.plan.design import Design
from promptaudit.registry.cards import Repetitions
from promptaudit.registry.errors import UsageError
from promptaudit.registry.samples import Sample, limited, seeded_rank
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
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
    samples = [f"{task} {sample.sample_id}" for task, own in design.samples.items() for sample in own.samples]
    asks = [f"{v.prompt_variant_id} {repetition}" for v in variants for repetition in v.repetitions]
    rows = warehouse.read(sql("plan", "landed_beside_pilot"), run=audit_run_id, samples=samples, asks=asks)
    if rows[0]["n"]:
        msg = (
            f"--pilot: run {audit_run_id} of '{design.audit_id}' has asked more than a pilot already; `promptaudit run "
            f"{design.audit_id}` goes on with it, and with --new --pilot another begins"
        )
        raise UsageError(msg)


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


def deal_samples(warehouse: Warehouse, audit_run_id: str, design: Design, variants: Sequence[Variant]) -> list[Variant]:
    """Chooses the samples that a run's variants ask; the choice is made and landed once, and read from then on."""
    landed = _landed(warehouse, audit_run_id)
    if landed is None:
        dealt = _dealt_twice(design, variants)
        rows = [
            {
                "audit_run_id": audit_run_id,
                "prompt_variant_id": variant.prompt_variant_id,
                "repetition": repetition,
                "sample_ids": list(sample_ids),
            }
            for variant in dealt
            for repetition, sample_ids in variant.dealt.items()
        ]
        warehouse.land([("grid", frame_of("grid", rows))])
        return dealt
    return [replace(variant, dealt=landed.get(variant.prompt_variant_id, {})) for variant in variants]


def _landed(warehouse: Warehouse, audit_run_id: str) -> dict[str, dict[int, tuple[str, ...]]] | None:
    # by prompt variant and repetition; None if the run has landed no choice
    rows = warehouse.read(
        "select prompt_variant_id, repetition, sample_ids from raw.grid where audit_run_id = $audit_run_id",
        audit_run_id=audit_run_id,
    )
    dealt: dict[str, dict[int, tuple[str, ...]]] = {}
    for row in rows:
        dealt.setdefault(row["prompt_variant_id"], {})[row["repetition"]] = tuple(row["sample_ids"])
    return dealt or None


def _dealt_twice(design: Design, variants: Sequence[Variant]) -> list[Variant]:
    # only wordings that are asked once of every sample are asked again
    share, dealt = design.audit.repetitions.twice, list(variants)
    if share is None:
        return dealt
    for place, variant in enumerate(dealt):
        if _is_asked_again(design.audit.repetitions, len(variant.repetitions), is_original=variant.is_original):
            order = _in_seeded_order(design, variant)
            again = tuple(sample.sample_id for sample in order[: _n_twice(share, len(order))])
            dealt[place] = replace(variant, dealt={variant.repetitions[-1]: again})
    return dealt


def n_asks(own: Repetitions, n_repetitions: int, n_samples: int, *, is_original: bool) -> int:
    """Counts the cells of a wording with so many repetitions for one model; the last repetition may ask a share."""
    if own.twice is not None and _is_asked_again(own, n_repetitions, is_original=is_original):
        return (n_repetitions - 1) * n_samples + _n_twice(own.twice, n_samples)
    return n_repetitions * n_samples


def _is_asked_again(own: Repetitions, n_repetitions: int, *, is_original: bool) -> bool:
    # if so, the last repetition asks a share of the samples
    return own.twice is not None and own.of_every_sample(is_original=is_original) < n_repetitions


def _n_twice(share: float, n_samples: int) -> int:
    return max(1, round(share * n_samples)) if n_samples else 0


def _in_seeded_order(design: Design, variant: Variant) -> list[Sample]:
    # each variant has an order of its own
    seed, what = design.audit.samples.seed, f"twice:{variant.prompt_variant_id}"
    return sorted(design.samples[variant.task_id].samples, key=lambda each: seeded_rank(seed, what, each.sample_id))
