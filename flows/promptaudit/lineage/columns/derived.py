"""The derivation of one column of a model; without the parser that reads it, whose import takes half a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Input = tuple[str, str]
"""A relation as `schema.table`, and one of its columns."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What one column of a model is made of.

    `expression` is SQL over columns of other relations, the model's CTEs put in; one that is long is named, and `steps` has
    it. `one_of(a, b)` stands for the sides of a union or the rows of `values`. `inputs` are the columns it takes values
    from, `rows` those that decide which rows it counts, or which row of a joined relation it takes: a label's index is found
    by the label. Neither: it is a constant.
    """

    expression: str
    inputs: tuple[Input, ...] = ()
    rows: tuple[Input, ...] = ()
    steps: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_handed_on(self) -> bool:
        """Returns whether it is a column of another relation as it is."""
        if len(self.inputs) != 1:
            return False
        ((relation, column),) = self.inputs
        table = relation if relation.startswith("raw.") else relation.partition(".")[2]
        return self.expression == f"{table}.{column}"
