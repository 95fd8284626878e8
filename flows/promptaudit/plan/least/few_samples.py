"""Computes which differences two nights detect when the samples are too few for a pilot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from promptaudit.cards.check_cards import check_audit
from promptaudit.plan.grid import LEAST_SAMPLES
from promptaudit.plan.least.components import Least, answer_groups, kind_of, source_run
from promptaudit.plan.least.material import n_available, n_tested
from promptaudit.registry.errors import DataError, raise_all
from promptaudit.registry.registry import Registry
from promptaudit.system.display.columns import aligned
from promptaudit.system.display.figures import count, number
from promptaudit.system.settings import Settings
from promptaudit.udfs.designs.search import FEWEST_SAMPLES, FEWEST_WORDINGS, MANY, MOST_WORDINGS
from promptaudit.udfs.designs.widths import MEASURES_COMPARED
from promptaudit.udfs.differences.detectable import detectable_differences
from promptaudit.warehouse import Warehouse

MOST_VARIANCE = 0.25
"""Bounds the variance of an answer that counts 0 to 1."""

WIDTHS = (-8, -10, -14, -12)
WORDINGS = (FEWEST_WORDINGS, 8, MANY, 20, 30, MOST_WORDINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDifference:
    """Holds a design of one ask a cell, and the smallest difference that two nights of it detect in 9 of 10 cases."""

    n_samples: int
    n_wordings: int
    n_requests: int
    detectable_difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FewSamples:
    """Holds the differences that two nights of few samples detect, by the number of wordings.

    Attributes:
        audit_id: the audit.
        audit_run_id: the run or import whose answers `var_cell` is computed from; None if it is the largest possible.
        measure: whose difference it is.
        detect: the difference that is to be detected.
        n_samples: of the task that has fewest.
        var_cell: variance of one answer around what its sample and wording explain, of the group that varies most in
            the run, else .25.
        differences: by growing numbers of wordings.
        if_samples_move: the smallest difference that is found under any number of wordings if a change moves all
            answers to a sample alike, by as much as can be; None for sensitivity, which has no most.
        n_comparisons: how many differences are tested between two nights.
        min_effect: the smallest difference that the card counts as one.
        notes: why a run was not used.
    """

    audit_id: str
    audit_run_id: str | None
    measure: str
    detect: float
    n_samples: int
    var_cell: float
    differences: tuple[FoundDifference, ...]
    if_samples_move: float | None
    n_comparisons: int
    min_effect: float
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Writes which difference two nights can find, on what assumption, and a table by wordings."""
        cells = "with answers that vary as much as they can"
        if self.audit_run_id is not None:
            cells = f"with answers that vary as in run {self.audit_run_id}"
        varying = f"{self.measure} {cells} (variance {self.var_cell:.3g} a cell)"
        yield f"{self.n_samples} samples are too few for a pilot: {varying}"
        enough = next((each for each in self.differences if each.detectable_difference <= self.detect), None)
        found = f"not found under {self.differences[-1].n_wordings} wordings or fewer"
        if enough is not None:
            found = f"found in about 9 of 10 cases from {enough.n_wordings} wordings on"
        tested = f"{self.n_comparisons} being tested and cells changing one by one"
        yield f"A difference of {self.detect:g} between two nights is {found}, {tested}."
        if self.if_samples_move is not None:
            least = number(self.if_samples_move)
            yield f"Where a change moves all answers to a sample alike, no number of wordings finds less than {least}."
        yield aligned(("wordings", "samples", "requests", "difference"), WIDTHS)
        for each in self.differences:
            counts = (str(each.n_wordings), count(each.n_samples), count(each.n_requests))
            yield aligned((*counts, number(each.detectable_difference)), WIDTHS)
        yield from self.notes


def few_samples(
    settings: Settings, registry: Registry, audit_id: str, measure: str, detect: float, *, from_run: str | None = None
) -> FewSamples | None:
    """Computes which differences two nights of an audit detect if its data are too few for a pilot; else None.

    Cells vary as in the run with this name, else as in the audit's newest run, pilot or import that has 20 samples and
    two wordings (three for sensitivity); without one as much as they can.

    Raises:
        UsageError: no such measure or run.
        DataError: sensitivity without such a run, because its cells have no largest variance.
    """
    kind, warehouse = kind_of(measure), Warehouse(settings.warehouse)
    checked = check_audit(registry, audit_id)
    raise_all(checked.errors)
    audit = registry.audit(audit_id)
    n = min(n_available(checked, each) for each in audit.tasks)
    if n >= LEAST_SAMPLES:
        return None
    run, groups, notes = None, [], []
    try:
        run = source_run(warehouse, audit_id, from_run, ("run", "import"))
        with run.kept_open(warehouse):
            least = Least(FEWEST_SAMPLES, 3 if kind == "sensitivity" else 2)
            groups = answer_groups(warehouse, run, registry, audit_id, measure, least)
    except DataError as error:
        if kind == "sensitivity" and run is not None:
            raise
        if kind == "sensitivity":
            why = "only answers tell what sensitivity varies by"
            msg = f"{n} samples are too few for a pilot, and {why}: `promptaudit run {audit_id}`"
            raise DataError(msg) from error
        notes = [] if run is None else [f"{error.args[0]}; cells are taken to vary as much as they can"]
    n_strategies = sum(1 if registry.task(each).templates else len(audit.strategies) for each in audit.tasks)
    n_groups = n_strategies * len(registry.models_of(audit_id))
    m = (n_tested(warehouse, run) if run is not None and groups else None) or MEASURES_COMPARED * n_groups
    cells = max((each.components.of_a_cell(1) for each in groups), default=MOST_VARIANCE)
    if cells == 0 and kind == "sensitivity":
        msg = f"{measure} does not vary in run {run.audit_run_id if run else ''}: ask again under more wordings"
        raise DataError(msg)
    if cells == 0:
        cells, notes = (
            MOST_VARIANCE,
            [*notes, "no answer differs in the run; cells are taken to vary as much as they can"],
        )
    cells = cells if kind == "sensitivity" else min(MOST_VARIANCE, cells)
    wordings = np.array([each for each in WORDINGS if kind == "linear" or each >= MANY], np.float64)
    # two nights share samples and wordings, as in `promptaudit.udfs.designs.widths.detectable_differences`
    found = detectable_differences(
        np.sqrt(2 * cells / (n * wordings)), np.full(len(wordings), n - 1.0), m, audit.min_effect
    )
    together = detectable_differences(np.sqrt([2 * MOST_VARIANCE / n]), np.array([n - 1.0]), m, audit.min_effect)
    return FewSamples(
        audit_id=audit_id,
        audit_run_id=run.audit_run_id if run is not None and groups else None,
        measure=measure,
        detect=detect,
        n_samples=n,
        var_cell=cells,
        differences=tuple(
            FoundDifference(
                n_samples=n, n_wordings=int(q), n_requests=n_groups * n * int(q), detectable_difference=float(each)
            )
            for q, each in zip(wordings, found, strict=True)
        ),
        if_samples_move=float(together[0]) if kind == "linear" else None,
        n_comparisons=m,
        min_effect=audit.min_effect,
        notes=tuple(notes),
    )
