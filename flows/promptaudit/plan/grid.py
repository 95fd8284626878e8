"""Chooses the samples that each wording is asked for a second time, if the card asks a share of them twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptaudit.plan.cells import Variant
from promptaudit.plan.design import Design
from promptaudit.registry.cards import Repetitions
from promptaudit.registry.samples import Sample, seeded_rank
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of


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


def design_row(audit_run_id: str, design: Design) -> dict[str, object]:
    """Builds the row of raw.designs for a run that opens."""
    audit = design.audit
    return {
        "audit_run_id": audit_run_id,
        "twice": audit.repetitions.twice,
        "seed": audit.samples.seed,
    }


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
