"""What the section on kinds of variation says in its heading."""

from __future__ import annotations

from typing import Any

import pytest

from promptaudit.report.sections.wordings import finding


def row(variation: str, verdict: str, effect: float | None = 0.2, **of: Any) -> dict[str, Any]:
    low, high = (None, None) if effect is None else (effect - 0.1, effect + 0.1)
    ends = {"effect_low": low, "effect_high": high}
    names = {"model_id": "m", "task_id": "t", "strategy": "simple"}
    return {**names, "variation": variation, "verdict": verdict, "effect": effect, **ends, **of}


def test_the_largest_effect_that_is_named_comes_first() -> None:
    rows = [
        row("wording", "not_told", 0.3),
        row("option_order", "moves_most", 0.2),
        row("format", "moves_most", 0.4, model_id="n\u202ex"),
        row("wording", "moves", 0.6, model_id="n"),
    ]
    assert (
        finding(rows) == "Format moves answers of n\\u202ex most, 0.400 [0.300, 0.500] beyond repeating; 1 more below"
    )
    of_two_tasks = [row("option_order", "moves_most", 0.2), row("format", "not_told", task_id="u")]
    assert finding(of_two_tasks) == "Option order moves answers of m on t most, 0.200 [0.100, 0.300] beyond repeating"


@pytest.mark.parametrize(
    ("verdicts", "effect", "said"),
    [
        (("not_told", "not_told"), 0.01, "No kind of variation is told from repeating"),
        (("moves", "moves"), 0.2, "A and b move answers, none told from all others"),
        (("not_measured", "not_told"), 0.2, "No kind of variation is told from repeating"),
        (("not_measured", "not_measured"), None, "Not measured without repetitions"),
    ],
)
def test_no_kind_is_named_that_is_not_told(verdicts: tuple[str, str], effect: float | None, said: str) -> None:
    assert finding([row(kind, verdict, effect) for kind, verdict in zip("ab", verdicts, strict=True)]) == said
