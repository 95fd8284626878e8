"""Holds the derivation of a model's column, without the parser that reads it: importing that takes half a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Input = tuple[str, str]
"""A relation as `schema.table`, and one of its columns."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What one column of a model is made of.

    `expression` is SQL over columns of other relations, with the model's CTEs put in; a long one is named, and `steps`
    has it. `one_of(a, b)` stands for the sides of a union or the rows of `values`. `inputs` are the columns it takes
    values from. `rows` are columns that decide which rows it counts, or which row of a joined relation it takes: a
    label's index is found by the label. A constant has neither.
    """

    expression: str
    inputs: tuple[Input, ...] = ()
    rows: tuple[Input, ...] = ()
    steps: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_handed_on(self) -> bool:
        """Checks whether it is a column of another relation, unchanged."""
        if len(self.inputs) != 1:
            return False
        ((relation, column),) = self.inputs
        table = relation if relation.startswith("raw.") else relation.partition(".")[2]
        return self.expression == f"{table}.{column}"
