"""The decision sentence that a comparison begins with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from promptaudit.marts.comparison.decision import decision_of
from promptaudit.marts.comparison.result import ComparedRun, RunComparison
from promptaudit.marts.comparison.terminal import printed
from promptaudit.system.display.compared import RunsCompared


def text_of(comparison: RunComparison) -> str:
    return "\n".join(map(str, printed(comparison, all_rows=False)))


def row(measure: str, verdict: str, difference: float = 0.0, **others: Any) -> dict[str, Any]:
    known = dict.fromkeys(RunsCompared.__dataclass_fields__)
    known |= {"model_id": "m", "task_id": "intents", "strategy": "simple", "measure": measure, "verdict": verdict}
    known |= {"base": 0.78, "candidate": 0.78 + difference, "difference": difference, "n_samples": 200, "q_value": 0.01}
    known |= {"difference_low": difference - 0.03, "difference_high": difference + 0.03, "p_value": 0.01}
    return {**known, "min_effect": 0.02, "n_alike_nights": 8, "claim": "these samples under these wordings", **others}


def compared(*rows: dict[str, Any], n_runs: int = 2) -> RunComparison:
    at = datetime(2026, 11, 29, tzinfo=UTC)
    runs = [
        ComparedRun(audit_run_id=name * 32, audit_id="a", started_at=at) for name in ("b", "c" if n_runs == 2 else "b")
    ]
    return RunComparison(comparison_id="x", runs=runs, measures=rows, changes=[], flips=[], moved=[])


def test_what_is_worse_is_said_by_its_right_answers_and_what_moved() -> None:
    moved = {"moved_gold_label": "complaint", "moved_label": "billing", "n_moved": 14, "n_moved_before": 1}
    found = decision_of(
        compared(
            row("sensitivity", "regressed", 0.2),
            row("micro_f1", "regressed", -0.07, n_moved_samples=20, **moved),
            row("label_churn", "changed", 0.3),
        )
    )
    assert found == (
        "the candidate is worse than the base: micro_f1 0.710 for 0.780 on these 200 samples of intents, "
        "-0.070 [-0.100, -0.040] (1 more regressed, 1 changed); most of it: samples called billing that are complaint: 14 of 20, "
        "1 of 20 in the base"
    )
    models = compared(
        row(
            "micro_f1",
            "improved",
            0.07,
            base_model_id="small",
            base_strategy="simple",
            strategy="simple",
            claim="other samples and wordings",
        )
    )
    assert decision_of(models).startswith("m is better than small: micro_f1 0.850 for 0.780 on 200 samples of intents")
    ways = compared(row("micro_f1", "improved", 0.07, base_model_id="m", base_strategy="simple", strategy="detail"))
    assert decision_of(ways).startswith("detail is better than simple: ")


def test_what_is_not_shown_says_what_is_possible_and_what_would_have_been_found() -> None:
    rows = [row("micro_f1", "none_shown", -0.05, detectable_difference=0.041), row("sensitivity", "same")]
    assert decision_of(compared(*rows)) == (
        "no difference is shown in 1 figures, 1 are the same: micro_f1 -0.050 [-0.080, -0.020], and one of 0.041 would have "
        "been found"
    )
    same = [row("micro_f1", "same"), row("sensitivity", "same")]
    assert decision_of(compared(*same)) == "the same within 0.02 in all 2 figures"


def test_what_it_leaves_out_is_said() -> None:
    # a judge that rules otherwise, and a cost
    apart = row("accuracy:judge:j", "not_comparable", -0.3, reason="the judge rules otherwise")
    cost = row("cost_usd", "regressed", 2.0, p_value=None, base=1.0, candidate=3.0)
    found = decision_of(compared(row("micro_f1", "same"), apart, cost))
    assert found == "the same within 0.02 in all 1 figures; cost_usd regressed; 1 figure cannot be compared"
    better = decision_of(compared(row("consistency", "regressed", -0.03), row("micro_f1", "improved", 0.3)))
    assert "(1 improved)" in better


def test_what_is_not_known_says_why() -> None:
    wandering = (
        "asked at different times, and how far it wanders between nights is not known yet (1 of 3 normal nights)"
    )
    found = compared(row("micro_f1", "unconfirmed", -0.1, reason=wandering, n_alike_nights=1, claim=None))
    assert decision_of(found) == (
        "unconfirmed: micro_f1 0.680 for 0.780 on 200 samples of intents, -0.100 [-0.130, -0.070]; " + wandering
    )
    assert "how far 1 of 1 figures wander between nights is not known yet" in text_of(found)
    apart = compared(row("micro_f1", "not_comparable", p_value=None, reason="other label set"))
    assert decision_of(apart) == "nothing can be compared: other label set"
    assert decision_of(compared()) == "nothing to compare"


def test_two_models_of_one_run_have_no_nights_between_them() -> None:
    one = compared(row("micro_f1", "none_shown", base_model_id="small", detectable_difference=0.1), n_runs=1)
    assert "asked in one run: no nights between them; what is said holds for " in text_of(one)
