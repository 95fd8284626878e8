"""Reads which wording of each model, task and strategy a published run recommends to ship, and the figures for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from promptaudit.registry.errors import MeasureError, UsageError
from promptaudit.system.display.columns import aligned
from promptaudit.system.display.compared import unit_of
from promptaudit.system.display.encode import encoded_property
from promptaudit.system.display.figures import cut, interval, moved, number, percent, ranged, signed
from promptaudit.system.display.variant_names import named as name_of
from promptaudit.system.display.variant_names import numbered
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import chosen, resolve
from promptaudit.warehouse.sql import sql

GROUP = ("task_id", "model_id", "strategy")
MOST_OF_A_WORDING = 60
COLUMNS = {"wording": 9, "accuracy": 23, "best": 8, "loses": 8, "worst variation": 24, "agrees": 8, "tokens": 8, "": 0}
"""The headings of a table of wordings, and the widths."""


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

    @property
    def cells(self) -> tuple[str, ...]:
        """Writes what a table has of it, by COLUMNS."""
        tokens_in, tokens_out = self.mean_prompt_tokens, self.mean_completion_tokens
        worst = self.worst_variation
        return (
            "original" if self.is_original else numbered(asdict(self)),
            ranged(self.accuracy, self.accuracy_low, self.accuracy_high),
            percent(self.chance_best),
            number(self.expected_loss),
            "" if worst is None else f"{number(self.accuracy_worst_variation)} {worst.replace('_', ' ')}",
            "" if self.agreement is None else percent(self.agreement),
            "" if tokens_in is None or tokens_out is None else number(tokens_in + tokens_out, 0),
            cut(self.instruction or "", MOST_OF_A_WORDING),
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

    def lines(self, top: int) -> Iterator[str]:
        """Writes the lines for a terminal, at most `top` wordings of each group and the original."""
        yield f"run {self.audit_run_id} of '{cut(self.audit_id)}'"
        for choice in self.choices:
            yield from ("", f"{unit_of(choice)} (right by {choice.scoring_method}): {choice.says}")
            if choice.majority is not None:
                yield f"  {choice.majority}"
            rows = [each.cells for place, each in enumerate(choice.wordings) if place < top or each.is_original]
            yield from (f"  {aligned(cells, COLUMNS.values())}".rstrip() for cells in (COLUMNS, *rows))
        if self.written is not None:
            yield from ("", f"written: {self.written}")

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
    why = f"run {named.audit_run_id} has none of that name"
    wordings = chosen(wordings, why, model=model, task=task, strategy=strategy)
    groups = [tuple(own) for _, own in groupby(wordings, key=attrgetter(*GROUP))]
    return Choices(
        audit_run_id=named.audit_run_id,
        audit_id=named.audit_id,
        choices=tuple(
            Choice(
                task_id=own[0].task_id,
                model_id=own[0].model_id,
                strategy=own[0].strategy,
                scoring_method=own[0].scoring_method,
                wordings=own,
            )
            for own in groups
        ),
    )
