"""What a planned design is, costs and does, for people and as JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCost:
    """A design and what a night of it costs.

    `width` is that of the widest interval expected of it.
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
    """What a group of answers varies by, and what is expected of the planned design for it.

    `n_wordings_asked` counts those that break too, without which the group is planned. `var_repetitions` is None where no cell
    was asked twice, and for sensitivity.
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
    """The least design of an audit that does what is wanted, what it was planned from, and what it costs.

    Attributes:
        audit_id: the audit.
        audit_run_id: the run whose answers the components are of.
        is_pilot: whether that run is not complete yet.
        measure: the measure whose interval or difference is planned.
        target_width: the widest interval that is wanted; None where a difference is.
        detect: the difference that is to be detected; None where a width is wanted.
        design: the least design.
        detectable_difference: the smallest difference that two such nights tell apart, of the group that tells least.
        n_comparisons: how many differences are tested between two nights.
        min_effect: the least difference that the card calls one.
        decided_by: the group that needs the most.
        n_requests_twice: of the design with a fifth of its cells asked twice, which tells noise from wording; None where all
            of them are.
        groups: every group of answers.
        notes: what there is to say besides.
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
