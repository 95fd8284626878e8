r"""Compares two formulas with latex2sympy2_extended's parser and math-verify.

It imports sympy, so only the worker imports it.

Formulas are as `formula` writes them. Decimals are exact (0.5 is 1/2, 1.4142 is not `\sqrt{2}`); letters are real
numbers and keep their names, so that `x + 1` is not `y + 1`. These are equal:

- values that do not differ by 1e-15 as numbers, letters set to positive fractions, and that math-verify finds equal;
- matrices entry by entry; tuples, including open intervals, in their order; other intervals by their ends;
- finite sets, including lists (`1, 2` or `x=1 or x=2`), in any order; other sets where no element is in one alone.
  `(1,2)` is not `\{1,2\}`, `[0,1)` is not `[0,1]`, 5 is not `\{5\}`;
- equations and inequalities with the same solutions, and an inequality and its solutions: `x<3` and `(-\infty,3)`;
- an equation that names a value and the value alone: `x=5`, `f(x)=5` or `x \in S` and their right side. An equation
  of numbers alone, `2+3=5`, counts as its right side.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy  # type: ignore[import-untyped]
from antlr4.atn.PredictionMode import PredictionMode  # type: ignore[import-untyped]
from latex2sympy2_extended import is_expr_of_only_symbols  # type: ignore[import-untyped]
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, _Latex2Sympy  # type: ignore[import-untyped]
from math_verify import verify  # type: ignore[import-untyped]
from sympy import And, Basic, Eq, FiniteSet, Interval, MatrixBase, Rational, Set, Symbol, Tuple
from sympy.core.function import AppliedUndef  # type: ignore[import-untyped]
from sympy.core.relational import Relational  # type: ignore[import-untyped]
from sympy.matrices.expressions import MatrixExpr  # type: ignore[import-untyped]

from promptaudit.udfs.scoring.math.pool import Equality

Algebra = Any  # sympy has no types

N_POINTS = 3
DIGITS = 30
PROOF_DIGITS = 50  # for math-verify's comparison of two numbers
DIFFERENCE = Rational(1, 10**15)

_NAMES_AS_WRITTEN = ConversionConfig(lowercase_symbols=False)
_INFINITE = (sympy.oo, -sympy.oo)
_TO_BE_DONE = (sympy.Sum, sympy.Product, sympy.Integral, sympy.Limit, sympy.Derivative)
_SLOW_AT_POINTS = (*_TO_BE_DONE, AppliedUndef)


def compare(answer: str, reference: str) -> Equality:
    """Decides whether two formulas are equal; None with a reason, `unreadable` or `too much memory`, if unknown."""
    try:
        return _are_equal(_parsed(answer), _parsed(reference)), None
    except MemoryError:
        return None, "too much memory"
    except Exception:  # noqa: BLE001 - parser and algebra raise what they like at what they cannot read
        return None, "unreadable"


class _Parser(_Latex2Sympy):  # type: ignore[misc]  # it has no types
    # numbers of its own: latex2sympy2_extended passes them through `sympify`, which is Python's `eval`
    def __init__(self, mode: int) -> None:
        super().__init__(is_real=True, config=_NAMES_AS_WRITTEN)
        self.mode = mode

    def create_parser(self, latex: str) -> Algebra:
        parser = super().create_parser(latex)
        parser._interp.predictionMode = self.mode  # noqa: SLF001 - there is no other way
        return parser

    def parse_number(self, text: str) -> Rational:
        return Rational(Fraction(text.replace(",", "")))


def _parsed(latex: str) -> Algebra:
    try:  # finds what the full mode finds, in a tenth of the time, or else nothing
        formula = _Parser(PredictionMode.SLL).parse(latex)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the parser raises Exception itself
        formula = _Parser(PredictionMode.LL).parse(latex)
    if not isinstance(formula, (Basic, MatrixBase)) or formula.has(sympy.zoo, sympy.nan):
        raise ValueError(latex)
    return formula


def _are_equal(answer: Algebra, reference: Algebra) -> bool:
    answer, reference = _without_names(answer, reference)
    if _is_relation(answer) != _is_relation(reference):
        answer, reference = _solutions(answer), _solutions(reference)
    if answer == reference:
        return True
    kind = _kind(answer)
    if kind != _kind(reference):
        return False
    return _COMPARISONS[kind](answer, reference)


def _kind(formula: Algebra) -> str:
    if isinstance(formula, (MatrixBase, MatrixExpr)):
        return "matrix"
    if isinstance(formula, Tuple) or (isinstance(formula, Interval) and formula.is_open):
        return "tuple"
    if isinstance(formula, FiniteSet):
        return "finite set"
    if isinstance(formula, Set):
        return "set"
    return "relation" if _is_relation(formula) else "value"


def _is_relation(formula: Algebra) -> bool:
    return isinstance(formula, (Relational, And))


def _without_names(answer: Algebra, reference: Algebra) -> tuple[Algebra, Algebra]:
    # drops `x =` where one side alone has it, or both have the same
    (name, value), (reference_name, reference_value) = _definition(answer), _definition(reference)
    if name is not None and reference_name is not None:
        return (value, reference_value) if name == reference_name else (answer, reference)
    if name is not None and isinstance(reference_value, Eq):
        return answer, reference_value
    if reference_name is not None and isinstance(value, Eq):
        return value, reference
    return value, reference_value


def _definition(formula: Algebra) -> tuple[Algebra, Algebra]:
    # the name that an equation gives and the value; None and the formula where it is no such equation
    if isinstance(formula, And) and all(isinstance(part, Eq) for part in formula.args):
        sides = getattr(formula, "_unsorted_args", formula.args)  # a = b = c
        formula = Eq(sides[0].lhs, sides[-1].rhs, evaluate=False)
    if not isinstance(formula, Eq):
        return None, formula
    if not formula.free_symbols:
        return None, formula.rhs
    for name, value in ((formula.lhs, formula.rhs), (formula.rhs, formula.lhs)):
        if (is_expr_of_only_symbols(name) or isinstance(name, AppliedUndef)) and not value.has(name):
            return name, value
    return None, formula


def _solutions(formula: Algebra) -> Algebra:
    # the set of numbers for which a relation in one unknown holds; anything else comes back as it is
    try:
        return formula.as_set() if _is_relation(formula) and not isinstance(formula, Eq) else formula
    except (AttributeError, NotImplementedError):
        return formula


def _values_are_equal(answer: Algebra, reference: Algebra) -> bool:
    answer, reference = (value.doit() if value.has(*_TO_BE_DONE) else value for value in (answer, reference))
    if answer.has(*_INFINITE) or reference.has(*_INFINITE):
        return bool(answer == reference)
    if _differ_at_a_point(answer, reference):
        return False
    if isinstance(answer, Symbol) or isinstance(reference, Symbol):  # math-verify compares symbols by name alone
        return bool(sympy.simplify(answer - reference) == 0)
    return _verified(answer, reference)


def _differ_at_a_point(answer: Algebra, reference: Algebra) -> bool:
    # a difference in numbers is seen quickly, where a proof of equality may never end
    if answer.has(*_SLOW_AT_POINTS) or reference.has(*_SLOW_AT_POINTS):
        return False
    letters = sorted(answer.free_symbols | reference.free_symbols, key=str)
    for point in range(N_POINTS if letters else 1):
        values = {letter: Rational(101 + 58 * point + 37 * rank, 97) for rank, letter in enumerate(letters)}
        first, second = answer.evalf(DIGITS, subs=values), reference.evalf(DIGITS, subs=values)
        difference, size = abs(first - second), abs(first)
        if difference.is_Float and size.is_Float and difference > DIFFERENCE * max(1, size):
            return True
    return False


def _verified(answer: Algebra, reference: Algebra) -> bool:
    return bool(verify(reference, answer, numeric_precision=PROOF_DIGITS, timeout_seconds=None))


def _relations_are_equal(answer: Algebra, reference: Algebra) -> bool:
    if _verified(answer, reference):
        return True
    if isinstance(answer, Eq) and isinstance(reference, Eq):
        ratio = sympy.simplify((answer.lhs - answer.rhs) / (reference.lhs - reference.rhs))
        return bool(ratio.is_number and ratio.is_nonzero)
    solutions = _solutions(answer)
    is_same_letter = answer.free_symbols == reference.free_symbols
    return isinstance(solutions, Set) and is_same_letter and bool(solutions == _solutions(reference))


def _matrices_are_equal(answer: Algebra, reference: Algebra) -> bool:
    answer, reference = answer.doit(), reference.doit()
    return answer.shape == reference.shape and all(map(_are_equal, answer.flat(), reference.flat()))


def _tuples_are_equal(answer: Algebra, reference: Algebra) -> bool:
    entries, reference_entries = _entries(answer), _entries(reference)
    return len(entries) == len(reference_entries) and all(map(_are_equal, entries, reference_entries))


def _entries(formula: Algebra) -> tuple[Algebra, ...]:
    return (formula.start, formula.end) if isinstance(formula, Interval) else formula.args


def _finite_sets_are_equal(answer: Algebra, reference: Algebra) -> bool:
    # each member is looked for in the other set: sympy keeps sqrt(8) and 2 sqrt(2) as two elements
    (names, members), (reference_names, reference_members) = _named(answer), _named(reference)
    if len(names) > 1 or len(reference_names) > 1:  # x=1, y=2: several names must be the same ones on both sides
        members, reference_members = answer.args, reference.args
        if names != reference_names:
            return False
    elif names != reference_names and None not in names | reference_names:
        return False
    return all(any(_are_equal(one, other) for other in reference_members) for one in members) and all(
        any(_are_equal(one, other) for one in members) for other in reference_members
    )


def _named(formula: Algebra) -> tuple[set[Algebra], list[Algebra]]:
    # the names given to members, None for a member without one, and the members without names
    definitions = [_definition(member) for member in formula.args]
    return {name for name, _ in definitions}, [value for _, value in definitions]


def _sets_are_equal(answer: Algebra, reference: Algebra) -> bool:
    if isinstance(answer, Interval) and isinstance(reference, Interval):
        same_ends = (answer.left_open, answer.right_open) == (reference.left_open, reference.right_open)
        return bool(same_ends) and _are_equal(answer.start, reference.start) and _are_equal(answer.end, reference.end)
    return _verified(answer, reference)


_COMPARISONS: dict[str, Callable[[Algebra, Algebra], bool]] = {
    "matrix": _matrices_are_equal,
    "tuple": _tuples_are_equal,
    "finite set": _finite_sets_are_equal,
    "set": _sets_are_equal,
    "relation": _relations_are_equal,
    "value": _values_are_equal,
}

_PATHS = (
    (r"\frac{1}{2}x^{2}-\sqrt{8}", r"x^{2}/2-2\sqrt{2}"),
    (r"\{1, 2\pi \}", r"2\pi , 1"),
    (r"[0, 1)\cup (2, \infty )", r"(2, \infty )\cup [0, 1)"),
    (r"(1, -2, x_{1})", r"(1, -2, x_{1}+0.5)"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&5\end{pmatrix}"),
    (r"x\le 3", r"x\cdot 2\le 6"),
    (r"2x+y=3", r"y=3-2x"),
    (r"e^{I\pi }", r"\cos (\pi )+I\sin (\pi )"),
    (r"|x|+\log _{2}8", r"\ln (e^{3})+|-x|"),
    (r"f(x)=x!", r"\binom{x}{1}\sqrt[3]{x}"),
    (r"x=\pm 2", r"\{-2, 2\}"),
    (r"\sin ^{2}x+\cos ^{2}x", "1"),
    (r"\int _{0}^{1}xdx", "0.5"),
)


def warm_up() -> None:
    """Compares formulas of every kind once, which loads the parser's tables and sympy's modules before a fork."""
    for answer, reference in _PATHS:
        compare(answer, reference)
