"""Reads which wording of each model, task and strategy a published run would have a user ship, and what speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from promptaudit.flows.display.encode import encoded_property
from promptaudit.flows.display.figures import interval, signed
from promptaudit.flows.display.variant_names import named as name_of
from promptaudit.flows.warehouse import Row, Warehouse
from promptaudit.flows.warehouse.run_names import refuse_unknown, resolve
from promptaudit.flows.warehouse.sql import sql
from promptaudit.models_registry.errors import MeasureError, UsageError

GROUP = ("task_id", "model_id", "strategy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The wordings of one model, task and strategy by one scoring method: rows of rpt_wording_choices, the chosen one first."""

    task_id: str
    model_id: str
    strategy: str
    scoring_method: str
    wordings: tuple[Row, ...]

    @property
    def chosen(self) -> Row:
        """Returns the wording to ship: the most accurate, the original where none is beyond it."""
        return self.wordings[0]

    @property
    def original(self) -> Row:
        """Returns the wording of the task's card."""
        return next(row for row in self.wordings if row["is_original"])

    @encoded_property
    def says(self) -> str:
        """Returns in a sentence what is found."""
        chosen = self.chosen
        if chosen["is_original"]:
            return f"no wording is better than yours, which is right most often of {len(self.wordings)}"
        if chosen["is_better"]:
            return better_in_words(chosen)
        return f"no wording is better than yours beyond chance; the most accurate one is {name_of(chosen)}: {_gain(chosen)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a run says of its wordings, a choice for each model, task and strategy; `written` is the card of the chosen one."""

    audit_run_id: str
    audit_id: str
    choices: tuple[Choice, ...]
    written: Path | None = None

    @property
    def only(self) -> Choice:
        """Returns the one choice; raises UsageError where there are several."""
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
    """Returns what a published run says of its wordings.

    run: as `compare` takes it. model, task, strategy: one of each; default all.

    Raises:
        UsageError: a name that is not there.
        MeasureError: no group of the run has 20 samples with a known right answer under two wordings, the original among them.
    """
    named = resolve(warehouse, run)
    rows = warehouse.published.read(sql("choice", "wordings"), run=named.audit_run_id)
    if not rows:
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
        refuse_unknown(option, value, {row[name] for row in rows}, named.audit_run_id)
        rows = [row for row in rows if value in (None, row[name])]
    groups = groupby(rows, key=lambda row: tuple(row[name] for name in GROUP))
    return Choices(
        audit_run_id=named.audit_run_id,
        audit_id=named.audit_id,
        choices=tuple(_choice(list(of_group)) for _, of_group in groups),
    )


def better_in_words(row: Row) -> str:
    """Returns that a better wording is so and by how much; `row` is of rpt_wording_choices, with its prompt variant's columns."""
    return f"{name_of(row)} is better than yours: {_gain(row)}"


def _gain(row: Row) -> str:
    around = interval(row["gain_low"], row["gain_high"])
    if row["gain"] is None:  # of a grid with gaps
        return (
            f"{around} of accuracy, whichever wording is chosen; too few samples are left to judge this one by itself"
        )
    return f"{signed(row['gain'])} of accuracy on samples that did not choose it, {around} whichever wording is chosen"


def _choice(rows: Sequence[Row]) -> Choice:
    first = rows[0]
    return Choice(
        task_id=first["task_id"],
        model_id=first["model_id"],
        strategy=first["strategy"],
        scoring_method=first["scoring_method"],
        wordings=tuple(rows),
    )
