"""Reads one model's SQL and finds what each of its columns is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope, walk_in_scope

from promptaudit.lineage.columns.derived import Derived, Input

DIALECT = "duckdb"
LONG = 160  # characters of a CTE's column that is named instead of written out
Schema = Mapping[str, Mapping[str, Sequence[str]]]
"""Columns by schema and table, in order."""
_SHAPING = ("where", "group", "having", "qualify", "joins")


def columns_of(sql: str, schema: Schema, own: str) -> dict[str, Derived]:
    """Derives every column of a query, in its order; `select *` is spelled out by the schema.

    `own` is the model as `schema.table`. Its own earlier rows, which an incremental model may read, are no inputs.

    Raises:
        sqlglot.errors.SqlglotError: SQL that cannot be read, or names a column nobody has.
        NotImplementedError: a kind of query that is not followed yet.
    """
    tree = parse_one(sql, dialect=DIALECT)
    for table in tree.find_all(exp.Table):
        table.set("catalog", None)
    known: dict[str, object] = {
        name: {table: dict.fromkeys(columns, "unknown") for table, columns in tables.items()}
        for name, tables in schema.items()
    }
    plain = tree.transform(_without_pivot)
    query = qualify(plain, dialect=DIALECT, schema=known, quote_identifiers=False, identify=False)
    root = build_scope(query)
    if root is None or not isinstance(query, exp.Query):
        msg = f"{own} is no query"
        raise NotImplementedError(msg)
    reader = _Reader(own)
    return {name: reader.column(root, name).derived() for name in query.named_selects}


def _without_pivot(node: exp.Expr) -> exp.Expr:
    # scopes know no pivot: DuckDB's `pivot (...) on x in (...) using f group by ...` becomes a grouped select
    if not isinstance(node, exp.Pivot) or not node.args.get("using"):
        return node
    (among,), (using,) = node.expressions, node.args["using"]
    keys = node.args["group"].expressions
    picked = [
        exp.alias_(
            exp.Filter(this=using.copy(), expression=exp.Where(this=among.this.copy().eq(value.copy()))), value.name
        )
        for value in among.expressions
    ]
    source = exp.Subquery(this=node.this.this.copy(), alias=exp.TableAlias(this=exp.to_identifier("pivoted")))
    return exp.select(*(key.copy() for key in keys), *picked).from_(source).group_by(*(key.copy() for key in keys))


@dataclass(frozen=True, slots=True)
class _Formula:
    expression: exp.Expr
    inputs: frozenset[Input] = frozenset()
    rows: frozenset[Input] = frozenset()
    steps: Mapping[str, str] = field(default_factory=dict)

    def derived(self) -> Derived:
        text, steps = _sql(self.expression), dict(self.steps)
        while text in steps:  # handed on as it is
            text = steps.pop(text)
        return Derived(text, tuple(sorted(self.inputs)), tuple(sorted(self.rows - self.inputs)), steps)


class _Reader:
    # follows columns through the scopes of one query

    def __init__(self, own: str) -> None:
        self._own = own
        self._known: dict[tuple[int, str], _Formula] = {}
        self._joins: dict[tuple[int, str], frozenset[Input]] = {}

    def column(self, scope: Scope, name: str) -> _Formula:
        key = (id(scope), name)
        if key not in self._known:
            self._known[key] = self._selected(scope, name)
        return self._known[key]

    def _selected(self, scope: Scope, name: str) -> _Formula:
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            place = query.named_selects.index(name)
            sides = [(side, _names(side.expression)) for side in scope.set_operation_scopes]
            if query.args.get("by_name"):
                return _one_of([self.column(side, name) for side, names in sides if name in names])
            return _one_of([self.column(side, names[place]) for side, names in sides])
        if isinstance(query, exp.Select):
            return self._read(scope, next(item.unalias() for item in query.selects if item.alias_or_name == name))
        if isinstance(query, exp.Values):
            place = [column.name for column in query.args["alias"].columns].index(name)
            return _one_of([_Formula(row.expressions[place]) for row in query.expressions])
        msg = f"a column of {type(query).__name__} cannot be followed: {name}"
        raise NotImplementedError(msg)

    def _read(self, scope: Scope, expression: exp.Expr, *, is_counted: bool = True) -> _Formula:
        # what other scopes select is put in
        inputs: set[Input] = set()
        rows: set[Input] = set()
        steps: dict[str, str] = {}
        replaced: dict[int, exp.Expr] = {}
        for node in walk_in_scope(expression):
            if isinstance(node, exp.Column) and node.table:
                formula = self._named(scope, node)
                replaced[id(node)] = formula.expression
                inputs |= formula.inputs
                rows |= formula.rows | self._joined(scope, node.table)
                steps |= formula.steps
            elif isinstance(node, exp.Count) and (node.this is None or isinstance(node.this, exp.Star)) and is_counted:
                rows |= self._of(scope, _shape(scope.expression))
            elif isinstance(node, exp.Window) and node.args.get("alias"):
                inputs |= self._of(scope, _window(scope.expression, node.args["alias"].name))
            elif isinstance(node, exp.Query) and node is not expression:
                inputs |= self._nested(scope, node)
        return _Formula(_put_in(expression, replaced), frozenset(inputs), frozenset(rows), steps)

    def _named(self, scope: Scope, column: exp.Column) -> _Formula:
        source = scope.sources.get(column.table)
        if isinstance(source, exp.Table):
            relation = f"{source.db}.{source.name}"
            full = exp.column(column.name, table=source.name, db=source.db if source.db == "raw" else None)
            return _Formula(full, frozenset({(relation, column.name)} if relation != self._own else ()))
        if not isinstance(source, Scope):
            msg = f"no table is called {column.table}: {_sql(column)}"
            raise NotImplementedError(msg)
        formula, name = self.column(source, column.name), f"{column.table}.{column.name}"
        text = _sql(formula.expression)
        if len(text) <= LONG or formula.steps.get(name, text) != text:  # two CTEs of one name are written out
            return formula
        return _Formula(column, formula.inputs, formula.rows, {**formula.steps, name: text})

    def _joined(self, scope: Scope, alias: str) -> frozenset[Input]:
        # columns of other relations that decide which row of a joined one is taken
        key = (id(scope), alias)
        if key not in self._joins:
            self._joins[key] = frozenset()  # two relations that are joined by each other
            joins = [each for each in scope.expression.args.get("joins") or () if each.alias_or_name == alias]
            conditions = [join.args["on"] for join in joins if join.args.get("on")]
            others = [c for on in conditions for c in on.find_all(exp.Column) if c.table and c.table != alias]
            self._joins[key] = self._of(scope, others)
        return self._joins[key]

    def _of(self, scope: Scope, parts: Iterable[exp.Expr]) -> frozenset[Input]:
        formulas = [self._read(scope, part, is_counted=False) for part in parts]
        return frozenset().union(*(each.inputs | each.rows for each in formulas))

    def _nested(self, scope: Scope, query: exp.Query) -> frozenset[Input]:
        inner = next(each for each in scope.subquery_scopes if each.expression is query)
        selected = [self.column(inner, name) for name in query.named_selects]
        return frozenset().union(*(each.inputs | each.rows for each in selected), self._of(inner, _shape(query)))


def _names(query: exp.Expr) -> list[str]:
    return query.named_selects if isinstance(query, exp.Query) else []


def _shape(query: exp.Expr) -> Iterator[exp.Expr]:
    # the parts of a select that decide which rows it has; `group by all` groups by what is no aggregate
    for name in _SHAPING:
        parts = query.args.get(name)
        for part in parts if isinstance(parts, list) else [parts]:
            shaping = part.args.get("on") if isinstance(part, exp.Join) else part
            if shaping is not None:
                yield shaping
    group = query.args.get("group")
    if isinstance(query, exp.Select) and group is not None and group.args.get("all"):
        yield from (item.unalias() for item in query.selects if not item.find(exp.AggFunc, exp.Filter))


def _window(query: exp.Expr, name: str) -> Iterator[exp.Expr]:
    for window in query.args.get("windows") or ():
        if window.name == name:
            yield from window.args.get("partition_by") or ()
            yield from filter(None, [window.args.get("order")])


def _one_of(sides: Sequence[_Formula]) -> _Formula:
    expressions = list({_sql(side.expression): side.expression for side in sides}.values())
    steps: dict[str, str] = {}
    for side in sides:
        steps |= side.steps
    return _Formula(
        expressions[0] if len(expressions) == 1 else exp.Anonymous(this="one_of", expressions=expressions),
        frozenset().union(*(side.inputs for side in sides)),
        frozenset().union(*(side.rows for side in sides)),
        steps,
    )


def _put_in(expression: exp.Expr, replaced: Mapping[int, exp.Expr]) -> exp.Expr:
    # in brackets where the new node could be read otherwise
    if id(expression) in replaced:
        return replaced[id(expression)]
    keys = [id(node) for node in expression.walk()]
    copied = expression.copy()
    for key, node in zip(keys, list(copied.walk()), strict=True):
        if key in replaced:
            new = replaced[key].copy()
            is_open = isinstance(new, (exp.Binary, exp.Not, exp.Between, exp.In)) and not isinstance(new, exp.Dot)
            node.replace(exp.paren(new) if is_open and not isinstance(node.parent, exp.Func) else new)
    return copied


def _sql(expression: exp.Expr) -> str:
    return expression.sql(
        dialect=DIALECT, normalize_functions="lower", comments=False, unsupported_level=ErrorLevel.IGNORE
    )
