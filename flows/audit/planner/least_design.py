"""Finds the least design of an audit whose interval is as narrow as is wanted, or that detects as small a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.audit.check_cards import CardCheck, check_audit
from flows.audit.planner.components import AnswerGroup, SourceRun, answer_groups, kind_of, source_run
from flows.audit.planner.costs import RequestCosts, request_costs
from flows.settings import Settings
from flows.warehouse import Warehouse
from flows.warehouse.sql import sql
from models_registry.errors import DataError, UsageError, raise_all
from models_registry.registry import Registry
from models_registry.samples import load_samples
from udfs.designs.search import MOST_SAMPLES, MOST_WORDINGS, REPETITIONS, Criterion, least_design, smallest_figure
from udfs.designs.variance_components import VarianceComponents, with_assurance
from udfs.designs.widths import (
    Design,
    Kind,
    chance_of_width,
    detectable_differences,
    half_widths,
    least_half_width,
)

LARGEST_INCOMPLETE = 0
"""The most wordings a sample of an incomplete grid that is proposed: a run asks full grids alone."""

WEIGHED_INCOMPLETE = 6
"""The same of the incomplete grid whose saving is told."""

MEASURES_COMPARED = 8
"""Differences that two nights are tested for in each group of answers, where no night has been compared yet."""

Figure = Callable[[VarianceComponents, NDArray[np.float64], Design], NDArray[np.float64]]
"""Takes a group's components, numbers of samples of shape (n,) and a design; gives a figure for each number."""

CURVE = (2.0, 1.5, 1.25, 1.0, 0.8, 0.65, 0.5)
"""Widths of the curve, as multiples of the planned one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCost:
    """A design and what a night of it costs; `width` is that of the widest interval expected of it."""

    n_samples: int
    n_wordings: int
    wordings_per_sample: int
    n_repetitions: int
    n_requests: int
    usd: float | None
    hours: float | None
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """What a group of answers varies by, and what is expected of the planned design for it.

    `repetitions` is None where no cell was asked twice, and for sensitivity.
    """

    model_id: str
    task_id: str
    strategy: str
    scoring_method: str | None
    n_samples: int
    n_wordings: int
    mean: float
    var_samples: float
    var_wordings: float
    var_cells: float
    var_repetitions: float | None
    width: float
    chance_of_width: float
    detectable_difference: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPlan:
    """The least design of an audit that does what is wanted, what it was planned from, and what it costs.

    Attributes:
        audit_id: the audit.
        audit_run_id: the run whose answers the components are of.
        is_pilot: whether that run is not complete yet.
        measure: the measure whose interval or difference is planned.
        target_width: the widest interval that is wanted; None where a difference is.
        detect: the difference that is to be detected; None where a width is wanted.
        assurance: the probability that the components stay below those planned with; None: planned with the estimates.
        design: the least design.
        chance_of_width: the chance that the run's interval is no wider than the target, of the group that reaches it least;
            of a planned difference, than the design's own expected width.
        detectable_difference: the smallest difference that two such nights tell apart, of the group that tells least.
        n_comparisons: how many differences are tested between two nights.
        min_effect: the least difference that the card calls one.
        decided_by: the group that needs the most.
        incomplete: the least incomplete grid, where it asks less; None elsewhere.
        curve: the least design of wider and narrower intervals; only of a planned width.
        groups: every group of answers.
        notes: what there is to say besides.
    """

    audit_id: str
    audit_run_id: str
    is_pilot: bool
    measure: str
    target_width: float | None
    detect: float | None
    assurance: float | None
    design: DesignCost
    chance_of_width: float
    detectable_difference: float
    n_comparisons: int
    min_effect: float
    decided_by: str
    incomplete: DesignCost | None
    curve: tuple[DesignCost, ...]
    groups: tuple[GroupPlan, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """What the search goes through: groups, the components to plan with, bounds and costs."""

    run: SourceRun
    kind: Kind
    groups: Sequence[AnswerGroup]
    planned: Sequence[VarianceComponents]
    most_samples: int
    repetitions: tuple[int, ...]
    costs: RequestCosts
    n_comparisons: int
    min_effect: float
    notes: tuple[str, ...]

    def half_widths(
        self, components: VarianceComponents, n_samples: NDArray[np.float64], shape: Design
    ) -> NDArray[np.float64]:
        """Returns the half-width of a group's printed interval at each number of samples, shape (n,)."""
        return half_widths(components, n_samples, shape, self.kind)

    def differences(
        self, components: VarianceComponents, n_samples: NDArray[np.float64], shape: Design
    ) -> NDArray[np.float64]:
        """Returns the smallest difference that is detected in a group at each number of samples, shape (n,)."""
        return detectable_differences(
            components, n_samples, shape, n_comparisons=self.n_comparisons, min_effect=self.min_effect
        )

    def worst(self, figure: Figure) -> Criterion:
        """Returns the largest of a figure over the groups, with the components to plan with."""
        return lambda n, shape: np.maximum.reduce([figure(each, n, shape) for each in self.planned])

    def least(self, figure: Figure, limit: float, largest_incomplete: int = LARGEST_INCOMPLETE) -> Design | None:
        """Returns the design of fewest requests whose figure is at most `limit` in every group."""
        return least_design(
            self.worst(figure), limit, self.kind, most_samples=self.most_samples, repetitions=self.repetitions,
            largest_incomplete=largest_incomplete,
        )  # fmt: skip

    def cost(self, design: Design) -> DesignCost:
        """Returns a design with what a night of it costs."""
        cost = self.costs.of(design)
        return DesignCost(
            n_samples=design.n_samples, n_wordings=design.n_wordings, wordings_per_sample=design.wordings_per_sample,
            n_repetitions=design.n_repetitions, n_requests=cost.n_requests, usd=cost.usd, hours=cost.hours,
            width=2 * float(self.worst(self.half_widths)(_one(design), design)[0]),
        )  # fmt: skip


def plan_width(  # noqa: PLR0913 - what the command takes
    settings: Settings,
    registry: Registry,
    audit_id: str,
    measure: str,
    width: float,
    *,
    assurance: float | None = None,
    from_run: str | None = None,
) -> DesignPlan:
    """Returns the least design of an audit whose 95 % intervals of a measure are no wider than `width`.

    Raises:
        UsageError: no such measure or run, or a width that no design reaches.
        DataError: the run's answers are too few to plan from, or none.
    """
    material = _material(settings, registry, audit_id, measure, assurance, from_run)
    design = material.least(material.half_widths, width / 2)
    if design is None:
        raise UsageError(_unreachable(material, width, measure))
    return _plan(material, audit_id, measure, design, width=width, assurance=assurance)


def plan_difference(  # noqa: PLR0913 - what the command takes
    settings: Settings,
    registry: Registry,
    audit_id: str,
    measure: str,
    detect: float,
    *,
    from_run: str | None = None,
) -> DesignPlan:
    """Returns the least design of an audit two nights of which tell a difference in a measure apart.

    Raises:
        UsageError: no such measure or run, or a difference that no design detects.
        DataError: the run's answers are too few to plan from, or none.
    """
    min_effect = registry.audit(audit_id).min_effect
    if detect <= min_effect:
        msg = (
            f"--detect {detect:g}: min_effect of audit '{audit_id}' is {min_effect:g}, and no smaller difference is called "
            f"one; give more than that, or lower it in the card"
        )
        raise UsageError(msg)
    material = _material(settings, registry, audit_id, measure, None, from_run)
    design = material.least(material.differences, detect)
    if design is None:
        least = _smallest(material, material.differences)
        msg = (
            f"--detect {detect:g}: {material.most_samples:,} samples under {MOST_WORDINGS} wordings detect {least:.4f} in "
            f"{measure}; give at least that, or more samples"
        )
        raise UsageError(msg)
    return _plan(material, audit_id, measure, design, detect=detect)


def _material(  # noqa: PLR0913 - what a plan is made from
    settings: Settings,
    registry: Registry,
    audit_id: str,
    measure: str,
    assurance: float | None,
    from_run: str | None,
) -> _Material:
    kind = kind_of(measure)
    checked = check_audit(registry, audit_id)
    raise_all(checked.errors)
    warehouse = Warehouse(settings.warehouse)
    run = source_run(warehouse, audit_id, from_run)
    with run.kept_open(warehouse):
        groups = answer_groups(warehouse, run, registry, audit_id, measure)
        names = {(each.model_id, each.task_id, each.strategy) for each in groups}
        costs = request_costs(warehouse, run, registry, names)
        n_tested = _n_tested(warehouse, run)
    components = [each.components for each in groups]
    if kind == "sensitivity":  # what it varies by is known for the repetitions of the run alone
        repetitions: tuple[int, ...] = (Counter(each.n_repetitions for each in groups).most_common(1)[0][0],)
    else:
        repetitions = REPETITIONS if all(each.has_repetitions for each in components) else (1,)
    return _Material(
        run=run,
        kind=kind,
        groups=groups,
        planned=components if assurance is None else [with_assurance(each, assurance) for each in components],
        most_samples=min(
            (_n_available(checked, each) for each in {name for _, name, _ in names}), default=MOST_SAMPLES
        ),
        repetitions=repetitions,
        costs=costs,
        n_comparisons=n_tested or MEASURES_COMPARED * len(groups),
        min_effect=registry.audit(audit_id).min_effect,
        notes=_notes(registry, audit_id, groups),
    )


def _n_tested(warehouse: Warehouse, run: SourceRun) -> int | None:
    """How many differences were tested between a run and another; None of a run that has been compared with none."""
    if not run.is_complete:
        return None
    (row,) = warehouse.published.read(sql("audit", "comparisons_between_nights"), run=run.audit_run_id)
    n: int | None = row["n"]
    return n


def _n_available(checked: CardCheck, task_id: str) -> int:
    """How many samples the data of a task have, as far as that is known here."""
    registry = checked.cards.registry
    card, root = registry.task(task_id), registry.data_root(task_id)
    if card.data.path is not None and (root / card.data.path).exists():
        kept_out = len(card.label_names) if "one_shot" in checked.cards.audit.strategies and not card.examples else 0
        return max(2, len(load_samples(task_id, card, root)) - kept_out)
    return card.data.rows or MOST_SAMPLES


def _one(design: Design) -> NDArray[np.float64]:
    return np.array([design.n_samples], np.float64)


def _smallest(material: _Material, figure: Figure) -> float:
    return smallest_figure(
        material.worst(figure), material.kind, most_samples=material.most_samples, repetitions=material.repetitions
    )


def _unreachable(material: _Material, width: float, measure: str) -> str:
    """Why no design is as narrow: wordings vary too much, else there are too few samples."""
    leasts = [2 * least_half_width(each, MOST_WORDINGS) for each in material.planned]
    worst = int(np.argmax(leasts))
    if leasts[worst] > width:
        return (
            f"--target-width {width:g}: {measure} varies so much between wordings that {MOST_WORDINGS} of them leave a width of "
            f"{leasts[worst]:.3f} whatever the samples ({material.groups[worst].name}); give more than that"
        )
    narrowest = 2 * _smallest(material, material.half_widths)
    return (
        f"--target-width {width:g}: the {material.most_samples:,} samples there are give {measure} a width of {narrowest:.3f} "
        f"under {MOST_WORDINGS} wordings; give at least that, or more samples"
    )


def _plan(  # noqa: PLR0913 - what a plan is made of
    material: _Material,
    audit_id: str,
    measure: str,
    design: Design,
    *,
    width: float | None = None,
    detect: float | None = None,
    assurance: float | None = None,
) -> DesignPlan:
    figure, limit = (material.half_widths, (width or 0.0) / 2) if detect is None else (material.differences, detect)
    figures = [float(figure(each, _one(design), design)[0]) for each in material.planned]
    if not any(each.components.samples + each.components.residual for each in material.groups):
        msg = f"{measure} does not vary in run {material.run.audit_run_id}: its answers are alike, and there is nothing to plan"
        raise DataError(msg)
    own = material.cost(design)
    groups = tuple(
        _group_plan(material, group, planned, design, own.width if width is None else width)
        for group, planned in zip(material.groups, material.planned, strict=True)
    )
    part = None if material.kind == "sensitivity" else material.least(figure, limit, WEIGHED_INCOMPLETE)
    return DesignPlan(
        audit_id=audit_id,
        audit_run_id=material.run.audit_run_id,
        is_pilot=not material.run.is_complete,
        measure=measure,
        target_width=width,
        detect=detect,
        assurance=assurance,
        design=own,
        chance_of_width=min(each.chance_of_width for each in groups),
        detectable_difference=max(each.detectable_difference for each in groups),
        n_comparisons=material.n_comparisons,
        min_effect=material.min_effect,
        decided_by=material.groups[int(np.argmax(figures))].name,
        incomplete=None if part is None or part.is_full else material.cost(part),
        curve=() if width is None else _curve(material, width),
        groups=groups,
        notes=material.notes,
    )


def _group_plan(
    material: _Material, group: AnswerGroup, planned: VarianceComponents, design: Design, width: float
) -> GroupPlan:
    found = group.components
    return GroupPlan(
        model_id=group.model_id,
        task_id=group.task_id,
        strategy=group.strategy,
        scoring_method=group.scoring_method,
        n_samples=found.n_samples,
        n_wordings=found.n_wordings,
        mean=found.mean,
        var_samples=found.samples,
        var_wordings=found.wordings,
        var_cells=found.cells,
        var_repetitions=found.repetitions if found.has_repetitions else None,
        width=2 * float(material.half_widths(planned, _one(design), design)[0]),
        chance_of_width=chance_of_width(found, design, width, material.kind),
        detectable_difference=float(material.differences(found, _one(design), design)[0]),
        bias=group.bias_of_one_wording / design.n_wordings,
    )


def _curve(material: _Material, width: float) -> tuple[DesignCost, ...]:
    """The least designs of intervals wider and narrower than `width`, as far as there are any."""
    designs = [material.least(material.half_widths, width * times / 2) for times in CURVE]
    return tuple(material.cost(each) for each in dict.fromkeys(designs) if each is not None)


def _notes(registry: Registry, audit_id: str, groups: Sequence[AnswerGroup]) -> tuple[str, ...]:
    """What of the card is not planned for: models and tasks without answers, judges and rephrasers."""
    audit, notes = registry.audit(audit_id), []
    for field, names in (("model", registry.models_of(audit_id)), ("task", audit.tasks)):
        known = {each.model_id if field == "model" else each.task_id for each in groups}
        notes += [
            f"{field} '{name}' has no such answers in that run: it is not planned for"
            for name in names
            if name not in known
        ]
    asks_rephraser = audit.rephrasing is not None and not registry.rephraser(audit.rephrasing.rephraser).asks_nobody
    if audit.judges or asks_rephraser:
        notes.append(f"judges and rephrasers are not among the requests; `promptaudit plan {audit_id}` counts them")
    return tuple(notes)
