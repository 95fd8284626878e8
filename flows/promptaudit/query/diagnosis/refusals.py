"""Finds the refused samples, with the answers to other wordings and repetitions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptaudit.query.diagnosis.material import Material
from promptaudit.system.display.compared import OfUnit
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSample(OfUnit):
    """A sample with answers that were refusals.

    n_variants_refused: how many of its n_variants have a refusal. other_answers: label (None: none could be read) and
    count of the answers that were no refusals, the most frequent first. refusal: the first. Texts are None where they
    may not be shown.
    """

    sample_id: str
    n_refused: int
    n_answers: int
    n_variants_refused: int
    n_variants: int
    is_original_refused: bool
    refusal: str | None
    input: str | None
    other_answers: Sequence[tuple[str | None, int]]


def find_refusals(warehouse: Warehouse, run: str, material: Material) -> tuple[RefusedSample, ...]:
    """Finds the refused samples of the diagnosed units and lists them with the most often refused first."""
    units = {unit.group for unit in material.units}
    return tuple(
        RefusedSample(
            **row
            | {
                "refusal": material.shown(row["task_id"], row["refusal"]),
                "input": material.shown_input(row["task_id"], row["sample_id"]),
                "other_answers": [(each["label"], each["n"]) for each in row["other_answers"]],
            }
        )
        for row in warehouse.published.read(sql("query.diagnosis", "refusals"), run=run)
        if (row["model_id"], row["task_id"], row["strategy"]) in units
    )
