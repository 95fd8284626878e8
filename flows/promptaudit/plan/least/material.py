"""Gathers what a plan is made from: groups of answers, the components to plan with, bounds of the search, costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.cards.check_cards import CardCheck, check_audit
from promptaudit.plan.least.components import AnswerGroup, SourceRun, answer_groups, kind_of, source_run
from promptaudit.plan.least.design_plan import DesignCost, RequestCosts, request_costs
from promptaudit.registry.errors import raise_all
from promptaudit.registry.registry import Registry
from promptaudit.registry.samples import load_samples
from promptaudit.system.settings import Settings
from promptaudit.udfs.designs.search import (
    MOST_SAMPLES,
    REPETITIONS,
    Criterion,
    least_design,
    smallest_figure,
)
from promptaudit.udfs.designs.variance_components import VarianceComponents
from promptaudit.udfs.designs.widths import (
    MEASURES_COMPARED,
    Design,
    Kind,
    detectable_differences,
    half_widths,
)
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

Figure = Callable[[VarianceComponents, NDArray[np.float64], Design], NDArray[np.float64]]
"""Computes a figure for each number of samples (an array of shape (n,)) from a group's components and a design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Holds what the search goes through: groups, bounds and costs."""

    run: SourceRun
    kind: Kind
    groups: Sequence[AnswerGroup]
    most_samples: int
    repetitions: tuple[int, ...]
    costs: RequestCosts
    n_comparisons: int
    min_effect: float
    notes: tuple[str, ...]

    def differences(
        self, components: VarianceComponents, n_samples: NDArray[np.float64], shape: Design
    ) -> NDArray[np.float64]:
        """Computes the smallest difference that is detected in a group at each number of samples, shape (n,)."""
        return detectable_differences(
            components, n_samples, shape, n_comparisons=self.n_comparisons, min_effect=self.min_effect
        )

    def worst(self, figure: Figure) -> Criterion:
        """Makes a criterion of a figure: its largest value over the groups."""
        return lambda n, shape: np.maximum.reduce([figure(each.components, n, shape) for each in self.groups])

    def least(self, figure: Figure, limit: float) -> Design | None:
        """Finds the design of fewest requests whose figure is at most `limit` in every group; None if there is none."""
        return least_design(
            self.worst(figure), limit, self.kind, most_samples=self.most_samples, repetitions=self.repetitions
        )

    def cost(self, design: Design) -> DesignCost:
        """Adds the costs of a night, and the width, to a design."""
        n_samples = np.array([design.n_samples], np.float64)
        return self.costs.of(design, 2 * float(self.worst(half_widths)(n_samples, design)[0]))

    def smallest(self, figure: Figure) -> float:
        """Finds the smallest figure that any design of the available samples gives the group that needs most."""
        return smallest_figure(
            self.worst(figure), self.kind, most_samples=self.most_samples, repetitions=self.repetitions
        )


def gather_material(
    settings: Settings,
    registry: Registry,
    audit_id: str,
    measure: str,
    from_run: str | None,
) -> Material:
    """Gathers what a plan of an audit is made from: groups of answers, what bounds the search, and costs.

    Raises:
        UsageError: no such measure or run.
        DataError: the run's answers are too few to plan from, or none.
    """
    kind = kind_of(measure)
    checked = check_audit(registry, audit_id)
    raise_all(checked.errors)
    warehouse = Warehouse(settings.warehouse)
    run = source_run(warehouse, audit_id, from_run)
    with run.kept_open(warehouse):
        groups = answer_groups(warehouse, run, registry, audit_id, measure)
        names = {each.group for each in groups}
        costs = request_costs(warehouse, run, registry, names)
        n_compared = n_tested(warehouse, run)
    if kind == "sensitivity":  # its components are known for the run's number of repetitions alone
        repetitions: tuple[int, ...] = (Counter(each.n_repetitions for each in groups).most_common(1)[0][0],)
    else:
        repetitions = REPETITIONS if all(each.components.has_repetitions for each in groups) else (1,)
    return Material(
        run=run,
        kind=kind,
        groups=groups,
        most_samples=min((n_available(checked, each) for each in {name for _, name, _ in names}), default=MOST_SAMPLES),
        repetitions=repetitions,
        costs=costs,
        n_comparisons=n_compared or MEASURES_COMPARED * len(groups),
        min_effect=registry.audit(audit_id).min_effect,
        notes=_notes(registry, audit_id, run, groups),
    )


def n_tested(warehouse: Warehouse, run: SourceRun) -> int | None:
    """Counts the differences that were tested between a run and another; None if it was compared with no run."""
    if not run.is_complete:
        return None
    (row,) = warehouse.published.read(sql("plan", "comparisons_between_nights"), run=run.audit_run_id)
    n: int | None = row["n"]
    return n


def n_available(checked: CardCheck, task_id: str) -> int:
    """Counts the samples that the data of a task have, as far as that is known here."""
    registry = checked.cards.registry
    card, root = registry.task(task_id), registry.data_root(task_id)
    if card.data.path is not None and (root / card.data.path).exists():
        kept_out = len(card.label_names) if "one_shot" in checked.cards.audit.strategies and not card.examples else 0
        return max(2, len(load_samples(task_id, card, root)) - kept_out)
    return card.data.rows or MOST_SAMPLES


def _notes(registry: Registry, audit_id: str, run: SourceRun, groups: Sequence[AnswerGroup]) -> tuple[str, ...]:
    # what is not planned for, which wordings break, what becomes of a pilot's answers
    audit, notes = registry.audit(audit_id), []
    for field, names in (("model", registry.models_of(audit_id)), ("task", audit.tasks)):
        known = {each.model_id if field == "model" else each.task_id for each in groups}
        notes += [
            f"{field} '{name}' has no such answers in that run: it is not planned for"
            for name in names
            if name not in known
        ]
    rephraser = None if audit.rephrasing is None else audit.rephrasing.rephraser
    asks_rephraser = rephraser is not None and not registry.rephraser(rephraser).asks_nobody
    if audit.judges or asks_rephraser:
        notes.append(f"judges and rephrasers are not among the requests; `promptaudit plan {audit_id}` counts them")
    notes += [
        f"wording {wording} of {group.name} breaks ({rate:.3f} against {of_others:.3f} of the others) and is planned without, as "
        f"the scorecard's `_unbroken` figures are; an interval with such a wording in it is wider"
        for group in groups
        for wording, rate, of_others in group.breaking
    ]
    if not run.is_complete:
        notes.append(
            f"`promptaudit run {audit_id}` keeps the pilot's answers while the card asks what it asked for then; with other "
            f"samples, wordings or repetitions it is another run, and asks all of its cells"
        )
    return tuple(notes)
