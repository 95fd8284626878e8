"""Holds figures that are compared with others, as rows of the marts have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from promptaudit.system.display.figures import cut

NAMES = ("model_id", "task_id", "strategy")


def names_of(thing: object) -> dict[str, Any]:
    """Maps model_id, task_id and strategy to the names that a thing has of each."""
    return {name: getattr(thing, name) for name in NAMES}


def unit_of(thing: object) -> str:
    """Names the model, task and strategy of a thing, as other people call them."""
    return ", ".join(cut(name, 60) for name in names_of(thing).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class OfUnit:
    """What is known of one model, task and strategy."""

    model_id: str
    task_id: str
    strategy: str

    @property
    def group(self) -> tuple[str, str, str]:
        """Names its model, task and strategy."""
        return self.model_id, self.task_id, self.strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion(OfUnit):
    """How many samples of a label are called another, for one model, task and strategy, now and before."""

    moved_gold_label: str | None
    moved_label: str | None
    n_moved: int | None
    n_moved_before: int | None
    n_moved_samples: int | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        """Makes it from a row, which may have more columns; a column may be absent only if the field has a default."""
        known = {name: row[name] for name in cls.__dataclass_fields__ if name in row}
        return cls(**known | ({"row": row} if "row" in cls.__dataclass_fields__ else {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Confusion):
    """A figure of a run that is compared with another."""

    measure: str
    base: float | None
    candidate: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    q_value: float | None
    verdict: str
    reason: str | None
    cause: str | None
    p_value: float | None = None  # of two runs
    what_changed: str | None = None  # of a night, where its reason does not say
    row: dict[str, Any] = field(repr=False, compare=False)  # whole: rules name its columns


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsCompared(Compared):
    """A row of rpt_run_comparisons."""

    base_run_id: str
    base_model_id: str | None
    base_strategy: str | None
    min_effect: float
    detectable_difference: float | None
    claim: str | None
    n_samples: int | None
    n_alike_nights: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFigure(Compared):
    """A row of rpt_night_verdicts."""

    n_nights_normal: int | None
    normal_run_id: str | None
    is_pinned: bool | None
    since_run_id: str | None
    worse_since_run_id: str | None

    @property
    def first_night(self) -> str | None:
        """Names the run that identifies an alarm: its first night, or the first night that was much worse."""
        return self.worse_since_run_id or self.since_run_id
