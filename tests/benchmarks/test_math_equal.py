"""Speed of `math_equal` over a night's completions, against math-verify called on each in this process."""

from __future__ import annotations

import logging
import random
import time

import pytest

from promptaudit.udfs.scoring.math.equal import MathEqual

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]

N_COMPLETIONS = 1_000_000
N_FORMULAS = 2_000
N_PEER = 2_000
Pair = tuple[str, list[str]]


def number_pairs(dice: random.Random, n: int) -> list[Pair]:
    """Answers of a model to 10,000 questions with a number for reference, in the forms they take: 7 in 10 are right."""
    references = [
        dice.choice([dice.randrange(1000), dice.randrange(10**6), dice.randrange(10**4) / 100]) for _ in range(10**4)
    ]
    forms = (
        "{0}",
        "The answer is {0}.",
        "The answer is ${0}$.",
        "So we get \\boxed{{{0}}}.",
        "There are {1} of one kind and {2} of the other.\nTherefore the total is {1} + {2} = {0}\n#### {0}",
        "We add {1} and {2} first.\n\nThen we divide by 7.\n\n**Answer:** {0:,}",
    )
    pairs = []
    for _ in range(n):
        reference = dice.choice(references)
        answer = reference if dice.random() < 0.7 else reference + dice.randrange(1, 10)
        form = dice.choice(forms)
        pairs.append((form.format(answer, dice.randrange(100), dice.randrange(100)), [str(reference)]))
    return pairs


def formula_pairs(dice: random.Random, n_distinct: int) -> list[Pair]:
    """Distinct formulas against a reference in another form, two in three of them equal."""
    pairs: list[Pair] = []
    while len(pairs) < n_distinct:
        a, b, c = (dice.randrange(2, 60) for _ in range(3))
        off = dice.choice((0, 0, 1))
        pairs += [
            (rf"The answer is $\frac{{{a}\pi}}{{{b}}}$.", [rf"\frac{{{a * c + off}}}{{{b * c}}}\pi"]),
            (rf"\boxed{{{a}\sqrt{{{b}}}}}", [rf"\sqrt{{{a * a * b + off}}}"]),
            (rf"Hence $x^2 + {a + b + off}x + {a * b}$.", [f"(x+{a})(x+{b})"]),
            (rf"\boxed{{({a}, {b}, {c})}}", [f"({a}, {b + off}, {c})"]),
            (rf"The roots are \boxed{{{a}, {b}}}.", [rf"\{{{b}, {a + off}\}}"]),
            (rf"\boxed{{[{a}, {a + b})}}", [rf"\left[{a}, {a + b + off}\right)"]),
        ]
    return pairs[:n_distinct]


def test_a_million_completions() -> None:
    dice = random.Random(0)
    formulas = formula_pairs(dice, N_FORMULAS)
    pairs = number_pairs(dice, N_COMPLETIONS * 9 // 10) + dice.choices(formulas, k=N_COMPLETIONS // 10)
    dice.shuffle(pairs)
    with MathEqual() as maths:
        maths.equal("x+1", ["1+x"])
        start = time.monotonic()
        readings = maths.equal_all(pairs)
        own = time.monotonic() - start
    n_equal, n_unscored = sum(r.is_equal is True for r in readings), sum(r.is_equal is None for r in readings)
    print(
        f"\n{len(pairs):,} completions, {len({(c, r[0]) for c, r in pairs}):,} distinct: {own:.1f} s, "
        f"{len(pairs) / own:,.0f} a second; {n_equal:,} equal, {n_unscored:,} unscored"
    )
    assert n_unscored == 0

    from math_verify import parse, verify  # the worker's library, as its documentation calls it

    logging.disable(logging.WARNING)
    start = time.monotonic()
    theirs = [
        verify(
            parse(f"${references[0]}$", parsing_timeout=None),
            parse(completion, parsing_timeout=None),
            timeout_seconds=None,
        )
        for completion, references in pairs[:N_PEER]
    ]
    peer = (time.monotonic() - start) / N_PEER * len(pairs)
    logging.disable(logging.NOTSET)
    n_agreed = sum(reading.is_equal == other for reading, other in zip(readings, theirs, strict=False))
    print(f"math-verify on each: {peer:,.0f} s from {N_PEER:,}, {peer / own:,.0f} times ours; agrees on {n_agreed:,}")
    assert peer > 10 * own
