"""What a comparison's first screen says of hand-made rows: the verdict, what differs most, the next command, the picture."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from promptaudit.marts.comparison.result import ComparedRun, RunComparison
from promptaudit.report.blocks.cells import plain
from promptaudit.report.comparison_page.gather import ComparisonData, Side, largest_of, ranked
from promptaudit.report.comparison_page.page import next_command, title_of, verdict_of
from promptaudit.report.comparison_page.sections import MOST_CELLS, heat, sections
from promptaudit.system.display.compared import RunsCompared

ID = "0123456789abcdef0123456789abcdef"


def row(
    measure: str, verdict: str, difference: float | None = None, base: float = 0.5, **others: Any
) -> dict[str, Any]:
    low, high = (None, None) if difference is None else (difference - 0.01, difference + 0.01)
    found = dict.fromkeys(RunsCompared.__dataclass_fields__)
    found |= {
        "comparison_id": ID,
        "base_run_id": "b" * 32,
        "candidate_run_id": "c" * 32,
        "model_id": "m",
        "task_id": "t",
    }
    found |= {"strategy": "s", "base_model_id": "m", "base_strategy": "s", "measure": measure, "verdict": verdict}
    found |= {"base": base, "candidate": None if difference is None else base + difference, "difference": difference}
    found |= {"difference_low": low, "difference_high": high, "p_value": 0.01, "q_value": 0.02, "min_effect": 0.02}
    found |= {"detectable_difference": 0.1, "reason": "why not", "cause": "nothing_changed"}
    return {**found, **others}


def data(
    *measures: dict[str, Any], audits: tuple[str, str] = ("a", "a"), models: tuple[str, str] | None = None
) -> ComparisonData:
    runs = [
        ComparedRun(audit_run_id=letter * 32, audit_id=audit, started_at=datetime(2026, 11, 25, tzinfo=UTC))
        for letter, audit in zip("bc", audits, strict=True)
    ]
    named = zip(("base", "candidate"), runs, models or (None, None), strict=True)
    base, candidate = (Side(name=name, run=run, called=model) for name, run, model in named)
    comparison = RunComparison(comparison_id=ID, runs=runs, measures=measures, changes=[], flips=[], moved=[])
    sides, largest = (base, candidate), largest_of(measures)
    return ComparisonData(comparison=comparison, sides=sides, causes=[], largest=largest, moved=None, examples=())


@pytest.mark.parametrize(
    ("verdicts", "state", "reason"),
    [
        (["regressed", "improved", "none_shown"], "regressed", ""),
        (["improved", "changed"], "improved", ""),
        (["changed"], "changed", ""),
        (["none_shown", "none_shown", "not_comparable"], "none shown", ""),
        (["not_comparable", "not_judged"], "not comparable", "No measure could be tested: why not."),
        (["not_judged"], "not comparable", "No measure could be tested."),
    ],
)
def test_the_verdict_is_the_gravest_and_says_how_many_came_out_how(
    verdicts: list[str], state: str, reason: str
) -> None:
    verdict = verdict_of(data(*(row(f"m{place}", each, 0.1) for place, each in enumerate(verdicts))))
    assert verdict.state == state
    assert verdict.reason.endswith(reason)
    assert verdict.reason.endswith(".")


def test_the_largest_difference_is_beyond_chance_where_any_is_and_no_cost_where_an_answer_differs() -> None:
    moved = row("micro_f1", "regressed", -0.06)
    others = [row("sensitivity", "none_shown", 0.4), row("cost_usd", "regressed", 7.0, base=1.0)]
    others.append(row("label_churn", "changed", 0.3))
    largest = largest_of([*others, moved])
    assert largest is not None
    assert largest.row == moved
    assert (largest.moved, largest.figures) == ("-0.060 [-0.070, -0.050]", ("0.500 → 0.440", "by chance 1 time in 50"))
    assert next_command(data(*others, moved)) == "promptaudit diagnose cccccccccccc --model m --task t --strategy s"
    cost = largest_of([others[0], others[1]])
    assert cost is not None
    assert cost.row["measure"] == "cost_usd"
    assert next_command(data(others[0], others[1])) == f"promptaudit trace {cost.figure_id}"
    noise = largest_of([others[0]])
    assert noise is not None
    assert not noise.is_news
    assert next_command(data(others[0])) == "promptaudit check cccccccccccc"


def test_a_figure_that_is_not_finite_is_not_ranked() -> None:
    rows = [
        row("micro_f1", "regressed", float("inf")),
        row("sensitivity", "regressed", -0.3, base=float("nan")),
        row("cost_usd", "regressed", 0.1, base=float("inf")),
        row("pss_inter", "regressed", -0.1),
    ]
    assert [each["measure"] for each in ranked(rows)] == ["pss_inter"]
    assert largest_of(rows[:3]) is None
    assert len(heat(rows).columns) == 4  # and they are drawn all the same


def test_what_is_alike_has_no_largest_difference() -> None:
    alike = [row("micro_f1", "none_shown", 1e-17), row("pss_inter", "not_comparable")]
    # asked again labels change too, and nobody said how much more is too much
    assert largest_of([*alike, row("label_churn", "none_shown", -0.3), row("latency_ms", "not_judged", 9.0)]) is None


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({}, "Two runs of a"),
        ({"audits": ("a", "b")}, "a and b"),
        ({"models": ("large", "small\x00")}, "large and small\\x00"),
    ],
)
def test_the_title_says_which_two(given: dict[str, Any], title: str) -> None:
    assert title_of(data(row("micro_f1", "none_shown", 0.0), **given)) == title


def test_the_picture_has_a_shade_for_verdict_and_size_and_a_dash_for_what_cannot_be_compared() -> None:
    rows = [
        row("micro_f1", "regressed", -0.06),
        row("sensitivity", "none_shown", 0.3),
        row("pss_inter", "not_comparable"),
    ]
    rows += [row("sensitivity", "improved", -0.2, strategy="r"), row("micro_f1", "changed", 0.01, task_id="u")]
    drawn = heat([*rows, row("cost_usd", "regressed", 0.04, base=1.0, strategy="r")])
    assert [name for name, _ in drawn.columns] == ["Sensitivity", "micro-F1", "cost_usd"]
    assert [
        (line.heading, line.name, [None if cell is None else (cell.shade, plain(cell.figure)) for cell in line.cells])
        for line in drawn.lines
    ] == [
        ("t", "r", [("improved-3", "-0.200"), None, ("regressed-1", "+$0.0400")]),
        (None, "s", [("h0", "+0.300"), ("regressed-2", "-0.060"), None]),
        ("u", "s", [None, ("changed-1", "+0.010"), None]),
    ]
    cell = drawn.lines[1].cells[1]
    assert cell is not None
    assert [plain(below) for below in cell.below] == ["[-0.070, -0.050]", "0.500 → 0.440"]


def test_a_picture_of_many_groups_has_those_that_differ_most() -> None:
    rows = [
        row("micro_f1", "regressed" if n == 7 else "none_shown", 0.03 if n == 7 else n / 10_000, task_id=f"t{n:04}")
        for n in range(2 * MOST_CELLS)
    ]
    drawn = heat(rows)
    assert len(drawn.lines) == MOST_CELLS
    assert {"t0007", f"t{2 * MOST_CELLS - 1:04}"} <= {line.heading for line in drawn.lines}
    assert "t0006" not in {line.heading for line in drawn.lines}
    assert drawn.notes[-1] == "The 800 of 1600 lines that differ most; promptaudit sql has the others."
    assert heat([row("micro_f1", "not_comparable")]).absent == "No measure has a difference between the two."


def test_headings_of_what_is_folded_say_what_is_found() -> None:
    change = {"what": "reader", "model_id": None, "task_id": "t", "cause": "we_changed_the_scoring"}
    change |= {"base": None, "candidate": "x"}
    flip = {"comparison_id": ID, "model_id": "m", "task_id": "t", "strategy": "s", "sample_id": "1"}
    flip |= {"flip": "became_wrong", "base_share_right": 1.0, "candidate_share_right": 0.0}
    flip |= {"base_largest_share": 1.0, "candidate_largest_share": 1.0}
    measures = [
        row("micro_f1", "regressed", -0.06),
        row("pss_inter", "not_comparable", reason="other label set"),
        row("latency_ms", "not_judged", 30.0, base=10.0),
    ]
    found = sections(
        RunComparison(comparison_id=ID, runs=[], measures=measures, changes=[change], flips=[flip], moved=[])
    )
    assert [(section.anchor, section.finding) for section in found] == [
        ("measures", "1 regressed, 1 not comparable"),
        ("costs", "latency_ms differs most for m, t, s: 10 ms → 40 ms"),
        ("recorded", "1 thing differs: reader"),
        ("flips", "Samples: 1 became wrong"),
    ]
    assert found[0].blocks[0].notes == ["1 not comparable: other label set."]
    bare = sections(RunComparison(comparison_id=ID, runs=[], measures=measures[:1], changes=[], flips=[], moved=[]))
    assert [section.finding for section in bare] == ["1 regressed", "Nothing on record differs", "No sample flipped"]
