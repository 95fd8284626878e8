"""Reads which wording of each model, task and strategy a published run recommends to ship, and the figures for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from promptaudit.registry.errors import MeasureError, UsageError
from promptaudit.system.display.encode import encoded_property
from promptaudit.system.display.figures import interval, moved, ranged, signed
from promptaudit.system.display.variant_names import named as name_of
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import refuse_unknown, resolve
from promptaudit.warehouse.sql import sql

GROUP = ("task_id", "model_id", "strategy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A row of rpt_wording_choices, with the fields of its prompt variant."""

    audit_run_id: str
    model_id: str
    task_id: str
    strategy: str
    scoring_method: str
    prompt_variant_id: str
    is_original: bool
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    accuracy_shrunk: float | None
    chance_best: float | None
    expected_loss: float | None
    accuracy_worst_variation: float | None
    worst_variation: str | None
    agreement: float | None
    mean_prompt_tokens: float | None
    mean_completion_tokens: float | None
    choice_rank: int
    is_chosen: bool
    gain: float | None  # a grid with gaps has none
    gain_low: float
    gain_high: float  # of the other wordings if the original is chosen
    q_value: float | None
    is_better: bool
    measure_version: int
    variant_index: int
    paraphrase_temperature: float | None
    variation: str | None
    instruction: str | None
    accuracy_majority: float | None = None  # of the group: what most of its wordings say
    accuracy_majority_low: float | None = None
    accuracy_majority_high: float | None = None
    majority_gain: float | None = None
    majority_gain_low: float | None = None
    majority_gain_high: float | None = None

    @property
    def better_in_words(self) -> str:
        """Says that the wording is better than the original, and by how much."""
        return f"{name_of(asdict(self))} is better than yours: {self.gain_in_words}"

    @property
    def gain_in_words(self) -> str:
        """Says how much better the wording is."""
        around = interval(self.gain_low, self.gain_high)
        if self.gain is None:
            return f"{around} of accuracy, whichever wording is chosen; too few samples are left to judge this one by itself"
        return (
            f"{signed(self.gain)} of accuracy on samples that did not choose it, {around} whichever wording is chosen"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The wordings of one model, task and strategy by one scoring method, the chosen one first."""

    task_id: str
    model_id: str
    strategy: str
    scoring_method: str
    wordings: tuple[Wording, ...]

    @property
    def chosen(self) -> Wording:
        """Picks the wording to ship: the most accurate one, or the original where none is shown to beat it."""
        return self.wordings[0]

    @property
    def original(self) -> Wording:
        """Finds the wording of the task's card."""
        return next(wording for wording in self.wordings if wording.is_original)

    @encoded_property
    def says(self) -> str:
        """Says the result in a sentence."""
        chosen = self.chosen
        if chosen.is_original:
            most = signed(chosen.gain_high)
            best = f"which is right most often of {len(self.wordings)}"
            return f"no wording is shown to be better than yours, {best}; up to {most} of accuracy is possible with another"
        if chosen.is_better:
            return chosen.better_in_words
        name = name_of(asdict(chosen))
        return f"no wording is better than yours beyond chance; the most accurate one is {name}: {chosen.gain_in_words}"

    @encoded_property
    def majority(self) -> str | None:
        """Says in a sentence what a majority vote over the wordings brings. None where labels have no such vote."""
        of = self.original
        if of.accuracy_majority is None or of.majority_gain is None:
            return None
        right = ranged(of.accuracy_majority, of.accuracy_majority_low, of.accuracy_majority_high)
        gain = moved(of.majority_gain, of.majority_gain_low, of.majority_gain_high)
        return f"the majority of {len(self.wordings)} wordings, each asked: accuracy {right}, {gain} over yours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The choices of a run, one for each model, task and strategy. `written` is the card of the chosen wording."""

    audit_run_id: str
    audit_id: str
    choices: tuple[Choice, ...]
    written: Path | None = None

    @property
    def only(self) -> Choice:
        """Gives the one choice. Raises UsageError where there are several."""
        if len(self.choices) > 1:
            names = [name for name in GROUP if len({getattr(each, name) for each in self.choices}) > 1]
            options = ", ".join(f"--{name.removesuffix('_id')}" for name in names)
            msg = f"run {self.audit_run_id} has {len(self.choices)} groups of wordings: name one with {options}"
            raise UsageError(msg)
        return self.choices[0]


def choose(
    warehouse: Warehouse,
    run: str,
    *,
    model: str | None = None,
    task: str | None = None,
    strategy: str | None = None,
) -> Choices:
    """Reads the wordings of a published run, ranked, for each model, task and strategy.

    run: as `compare` takes it. model, task, strategy: one of each; default all.

    Raises:
        UsageError: a name that is not there.
        MeasureError: no group of the run has 20 samples with a known right answer under two wordings, the original among them.
    """
    named = resolve(warehouse, run)
    wordings = rows_as(Wording, warehouse.published.read(sql("query.choice", "wordings"), run=named.audit_run_id))
    if not wordings:
        msg = (
            f"run {named.audit_run_id} has no wordings to choose from: at least 20 samples are wanted of which the right "
            "answer is known, asked under the original and another wording"
        )
        raise MeasureError(msg)
    for option, name, value in (
        ("model", "model_id", model),
        ("task", "task_id", task),
        ("strategy", "strategy", strategy),
    ):
        refuse_unknown(option, value, {getattr(wording, name) for wording in wordings}, named.audit_run_id)
        wordings = [wording for wording in wordings if value in (None, getattr(wording, name))]
    groups = groupby(wordings, key=attrgetter(*GROUP))
    return Choices(
        audit_run_id=named.audit_run_id,
        audit_id=named.audit_id,
        choices=tuple(_choice(list(of_group)) for _, of_group in groups),
    )


def _choice(wordings: Sequence[Wording]) -> Choice:
    first = wordings[0]
    return Choice(
        task_id=first.task_id,
        model_id=first.model_id,
        strategy=first.strategy,
        scoring_method=first.scoring_method,
        wordings=tuple(wordings),
    )
