"""Follows a column of a mart through the dbt project down to the raw columns it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from promptaudit.lineage.columns.project import Model, models
from promptaudit.registry.errors import UsageError, nearest

Kind = Literal["derived", "raw", "constant"]
Use = Literal["value", "rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column and what it is made of.

    `kind` is `raw` for a column that landed, `constant` where it takes nothing from a table (its `expression` is the
    constant), else `derived`. `expression` is SQL over the children; long parts of it are named and stand in `steps`.
    `use` says how the column above uses it: it takes its `value`, or only counts the `rows` it decides about. A column
    that stands in the tree already has `is_repeated`, and its children there.
    """

    model: str
    column: str
    kind: Kind
    use: Use = "value"
    expression: str = ""
    steps: Mapping[str, str] = field(default_factory=dict)
    is_repeated: bool = False
    children: tuple[Column, ...] = ()

    @property
    def name(self) -> str:
        """Names the column: `fct_p_tau.p_tau`, or `raw.predictions.completion` for one that landed."""
        return f"{self.model}.{self.column}"

    def walk(self) -> Iterator[Column]:
        """Yields the column and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def raw_columns(self) -> list[str]:
        """Lists the raw columns below it as `raw.<table>.<column>`, sorted, including ones that only decide rows."""
        return sorted({each.name for each in self.walk() if each.kind == "raw"})


def lineage_of(mart: str, column: str) -> Column:
    """Traces a column of a model down to what it is made of: a tree whose leaves are raw columns and constants.

    `mart` is the name of any model of the project, without its schema. The tree follows the project as this code has
    it: no warehouse is opened. The first call after a change of the project takes some 10 s unless a build was there
    before; afterwards one takes milliseconds.

    Raises:
        UsageError: no such model, or no such column of it, with the nearest name.
        WarehouseError: dbt could not compile the project.
    """
    known = models()
    if mart not in known:
        msg = f"no model is {mart!r}{nearest(mart, sorted(known))}"
        raise UsageError(msg)
    if column not in known[mart].columns:
        msg = f"{mart} has no column {column!r}{nearest(column, list(known[mart].columns))}"
        raise UsageError(msg)
    return _followed(known, {model.relation: model for model in known.values()}, (mart, column), "value", set())


def _followed(
    known: Mapping[str, Model],
    by_relation: Mapping[str, Model],
    at: tuple[str, str],
    use: Use,
    seen: set[tuple[str, str]],
) -> Column:
    model, name = at
    derived = known[model].columns[name]
    column = Column(
        model=model, column=name, kind="derived", use=use, expression=derived.expression, steps=derived.steps
    )
    if not derived.inputs and not derived.rows:
        return replace(column, kind="constant")
    if at in seen:
        return replace(column, is_repeated=True)
    seen.add(at)
    uses: tuple[tuple[Use, tuple[tuple[str, str], ...]], ...] = (("value", derived.inputs), ("rows", derived.rows))
    children = []
    for own_use, inputs in uses:
        for relation, below in inputs:
            if relation.startswith("raw."):
                children.append(Column(model=relation, column=below, kind="raw", use=own_use))
            else:
                children.append(_followed(known, by_relation, (by_relation[relation].name, below), own_use, seen))
    return replace(column, children=tuple(children))
