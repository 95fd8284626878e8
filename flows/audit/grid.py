"""Deals the cells of a run: which samples each wording is asked for, and how often, where it is not all of them alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flows.audit.design import Design
from flows.audit.plan import Variant
from flows.warehouse import Warehouse
from flows.warehouse.rows import frame_of
from models_registry.samples import Sample, seeded_rank


def deal_samples(warehouse: Warehouse, audit_run_id: str, design: Design, variants: Sequence[Variant]) -> list[Variant]:
    """Returns a run's variants with the samples that they are asked for, which are dealt and landed once."""
    landed = _landed(warehouse, audit_run_id)
    if landed is None:
        dealt = _dealt_twice(design, variants)
        rows = [
            {"audit_run_id": audit_run_id, "prompt_variant_id": variant.prompt_variant_id, "repetition": repetition,
             "sample_ids": list(sample_ids)}
            for variant in dealt
            for repetition, sample_ids in variant.dealt.items()
        ]  # fmt: skip
        warehouse.land([("grid", frame_of("grid", rows))])
        return dealt
    return [replace(variant, dealt=landed.get(variant.prompt_variant_id, {})) for variant in variants]


def design_row(audit_run_id: str, design: Design) -> dict[str, object]:
    """Returns the row of raw.designs of a run that opens."""
    audit = design.audit
    return {"audit_run_id": audit_run_id, "twice": audit.repetitions.twice, "seed": audit.samples.seed}


def _landed(warehouse: Warehouse, audit_run_id: str) -> dict[str, dict[int, tuple[str, ...]]] | None:
    """What the run has dealt by prompt variant and repetition; None where it has dealt nothing."""
    rows = warehouse.read(
        "select prompt_variant_id, repetition, sample_ids from raw.grid where audit_run_id = $audit_run_id",
        audit_run_id=audit_run_id,
    )
    dealt: dict[str, dict[int, tuple[str, ...]]] = {}
    for row in rows:
        dealt.setdefault(row["prompt_variant_id"], {})[row["repetition"]] = tuple(row["sample_ids"])
    return dealt or None


def _dealt_twice(design: Design, variants: Sequence[Variant]) -> list[Variant]:
    """The variants with the samples that are asked a second time, of wordings that are asked once of every sample."""
    share, dealt = design.audit.repetitions.twice, list(variants)
    if share is None:
        return dealt
    for place, variant in enumerate(dealt):
        n_of_every_sample = design.audit.repetitions.of_every_sample(is_original=variant.is_original)
        if n_of_every_sample < len(variant.repetitions):
            asked = variant.samples_of(1, design.samples[variant.task_id].samples)
            order = _in_seeded_order(design, "twice", variant.prompt_variant_id, asked)
            again = tuple(sample.sample_id for sample in order[: n_twice(share, len(asked))])
            dealt[place] = replace(variant, dealt={**variant.dealt, variant.repetitions[-1]: again})
    return dealt


def n_twice(share: float, n_samples: int) -> int:
    """Returns how many samples of a wording are asked twice: the share of them, at least one."""
    return max(1, round(share * n_samples)) if n_samples else 0


def _in_seeded_order(design: Design, what: str, of: str, samples: Sequence[Sample]) -> list[Sample]:
    seed = design.audit.samples.seed
    return sorted(samples, key=lambda sample: seeded_rank(seed, f"{what}:{of}", sample.sample_id))
