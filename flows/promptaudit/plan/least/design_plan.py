"""Describes a planned design, what it costs and what it finds, for people and as JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCost:
    """Holds a design and what a night of it costs.

    `width` is the width of the widest interval expected of it.
    """

    n_samples: int
    n_wordings: int
    n_repetitions: int
    n_requests: int
    usd: float | None
    hours: float | None
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Holds what a group of answers varies by, and what the planned design is expected to find for it.

    `n_wordings_asked` includes wordings that break, without which the group is planned. `var_repetitions` is None if no
    cell was asked twice, and for sensitivity.
    """

    model_id: str
    task_id: str
    strategy: str
    scoring_method: str | None
    n_samples: int
    n_wordings: int
    n_wordings_asked: int
    wordings_breaking: tuple[str, ...]
    mean: float
    var_samples: float
    var_wordings: float
    var_cells: float
    var_repetitions: float | None
    width: float
    detectable_difference: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPlan:
    """Holds the least design of an audit that reaches the goal, what it was planned from, and what it costs.

    Attributes:
        audit_id: the audit.
        audit_run_id: the run whose answers the components are computed from.
        is_pilot: whether that run is not complete yet.
        measure: the measure whose interval or difference is planned.
        target_width: the widest interval that is wanted; None if a difference is wanted.
        detect: the difference that is to be detected; None if a width is wanted.
        design: the least design.
        detectable_difference: the smallest difference that two such nights detect, in the group that detects least.
        n_comparisons: how many differences are tested between two nights.
        min_effect: the smallest difference that the card counts as one.
        decided_by: the group that needs the most.
        n_requests_twice: of the design with a fifth of its cells asked twice, which separates noise from wording; None
            if all cells are asked twice or more.
        groups: every group of answers.
        notes: further remarks.
    """

    audit_id: str
    audit_run_id: str
    is_pilot: bool
    measure: str
    target_width: float | None
    detect: float | None
    design: DesignCost
    detectable_difference: float
    n_comparisons: int
    min_effect: float
    decided_by: str
    n_requests_twice: int | None
    groups: tuple[GroupPlan, ...]
    notes: tuple[str, ...]
