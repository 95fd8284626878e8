"""Finds the least design of an audit whose interval is narrow enough, or that detects a difference small enough."""

from __future__ import annotations

import numpy as np

from promptaudit.plan.least.components import AnswerGroup
from promptaudit.plan.least.design_plan import DesignPlan, GroupPlan
from promptaudit.plan.least.material import Material, gather_material
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.registry.registry import Registry
from promptaudit.system.display.compared import names_of
from promptaudit.system.settings import Settings
from promptaudit.udfs.designs.search import MOST_WORDINGS
from promptaudit.udfs.designs.widths import Design, detectable_difference, half_widths

SHARE_TWICE = 0.2
"""Sets the share of cells that is asked twice to separate noise from wording, if the others are asked once."""


def plan_design(
    settings: Settings,
    registry: Registry,
    audit_id: str,
    measure: str,
    *,
    width: float | None = None,
    detect: float | None = None,
    from_run: str | None = None,
) -> DesignPlan:
    """Finds the least design of an audit with 95 % intervals of a measure no wider than `width`.

    Or with `detect` the least of which two nights detect a difference of that size in it.

    Raises:
        UsageError: no such measure or run, or a width or difference that no design reaches.
        DataError: the run's answers are too few to plan from, or none.
    """
    min_effect = registry.audit(audit_id).min_effect
    if detect is not None and detect <= min_effect:
        msg = (
            f"--detect {detect:g}: min_effect of audit '{audit_id}' is {min_effect:g}, and no smaller difference is called "
            f"one; give more than that, or lower it in the card"
        )
        raise UsageError(msg)
    material = gather_material(settings, registry, audit_id, measure, from_run)
    figure = half_widths if detect is None else material.differences
    design = material.least(figure, (width or 0.0) / 2 if detect is None else detect)
    if design is None:
        raise UsageError(_unreachable(material, width, detect, measure))
    n_samples, found = np.array([design.n_samples], np.float64), [each.components for each in material.groups]
    figures = [float(figure(each, n_samples, design)[0]) for each in found]
    if not any(each.samples + each.wordings + each.of_a_cell(1) for each in found):
        msg = f"{measure} does not vary in run {material.run.audit_run_id}: its answers are alike, and there is nothing to plan"
        raise DataError(msg)
    own = material.cost(design)
    groups = tuple(_group_plan(material, each, design) for each in material.groups)
    return DesignPlan(
        audit_id=audit_id,
        audit_run_id=material.run.audit_run_id,
        is_pilot=not material.run.is_complete,
        measure=measure,
        target_width=width,
        detect=detect,
        design=own,
        detectable_difference=max(each.detectable_difference for each in groups),
        n_comparisons=material.n_comparisons,
        min_effect=material.min_effect,
        decided_by=material.groups[int(np.argmax(figures))].name,
        n_requests_twice=round((1 + SHARE_TWICE) * own.n_requests) if design.n_repetitions == 1 else None,
        groups=groups,
        notes=material.notes,
    )


def _unreachable(material: Material, width: float | None, detect: float | None, measure: str) -> str:
    # wordings vary too much, else there are too few samples
    if width is None:
        least = material.smallest(material.differences)
        return (
            f"--detect {detect:g}: {material.most_samples:,} samples under {MOST_WORDINGS} wordings detect {least:.4f} in "
            f"{measure}; give at least that, or more samples"
        )
    endless, most = np.array([1e9]), Design(n_samples=2, n_wordings=MOST_WORDINGS, n_repetitions=1)
    leasts = [2 * float(half_widths(each.components, endless, most)[0]) for each in material.groups]
    worst = int(np.argmax(leasts))
    if leasts[worst] > width:
        return (
            f"--target-width {width:g}: {measure} varies so much between wordings that {MOST_WORDINGS} of them leave a width of "
            f"{leasts[worst]:.3f} whatever the samples ({material.groups[worst].name}); give more than that"
        )
    narrowest = 2 * material.smallest(half_widths)
    return (
        f"--target-width {width:g}: the {material.most_samples:,} samples there are give {measure} a width of {narrowest:.3f} "
        f"under {MOST_WORDINGS} wordings; give at least that, or more samples"
    )


def _group_plan(material: Material, group: AnswerGroup, design: Design) -> GroupPlan:
    found = group.components
    half = half_widths(found, np.array([design.n_samples], np.float64), design)
    return GroupPlan(
        **names_of(group),
        scoring_method=group.scoring_method,
        n_samples=found.n_samples,
        n_wordings=found.n_wordings,
        n_wordings_asked=group.n_wordings_asked,
        wordings_breaking=tuple(wording for wording, _, _ in group.breaking),
        mean=found.mean,
        var_samples=found.samples,
        var_wordings=found.wordings,
        var_cells=found.cells,
        var_repetitions=found.repetitions if found.has_repetitions else None,
        width=2 * float(half[0]),
        detectable_difference=detectable_difference(
            found, design, n_comparisons=material.n_comparisons, min_effect=material.min_effect
        ),
        bias=group.bias_of_one_wording / design.n_wordings,
    )
