"""Verdicts on nights of one audit, which a third night confirms or not: in the marts, whatever order they were derived in."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from flows.comparison.compare import Pair, compare
from flows.evidence.retain import retain
from flows.evidence.trace.gather import trace
from flows.evidence.trace.recompute import agrees, recompute
from flows.marts.publish import publish
from flows.warehouse import Warehouse
from flows.warehouse.figure_names import row_id
from models_registry.cards import FormatLimits
from tests.support.imported_runs import Recorded, published
from tests.support.shell import promptaudit

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

LABELS = ("a", "b", "c")
N_SAMPLES, N_VARIANTS = 60, 12
FIRST, SECOND, ODD, BACK = range(4)
# but for the noise floor, which is of the comparisons that there are
OF_VERDICT = (
    "verdict, regexp_replace(reason, ' .[0-9.]+ % of pairs.', '') as reason, cause, "
    "round(p_value, 9) as p_value, round(q_value, 9) as q_value, "
    "round(abs(difference), 9) as size, confirming_run_id, round(abs(confirming_difference), 9) as confirming_size, "
    "round(confirming_p_value, 9) as confirming_p_value"
)


def answers(knows: float, seed: int) -> list[dict[str, Any]]:
    """Answers of a model that knows the label as often as `knows` says, asked twice under every wording."""
    dice = random.Random(seed)
    rows = []
    for sample in range(N_SAMPLES):
        gold = LABELS[sample % len(LABELS)]
        for variant in range(N_VARIANTS):
            for repetition in (1, 2):
                said = gold if dice.random() < knows else dice.choice(LABELS)
                rows.append(
                    {"model": "m", "task": "asked", "sample_id": f"s{sample}", "variant_index": variant,
                     "is_original": variant == 0, "repetition": repetition, "gold_label": gold, "completion": said}
                )  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Four nights of one plan, of which the third alone is other: imports that are made nights of an audit."""
    place = tmp_path_factory.mktemp("confirmed")
    (place / "warehouse").mkdir()
    files = [
        Recorded("night", answers(knows, seed), LABELS, FormatLimits())
        for seed, knows in ((1, 0.9), (2, 0.9), (3, 0.4), (4, 0.9))
    ]
    path, runs = published(place / "warehouse", files)
    with Warehouse(path).write() as con:
        con.execute("update raw.audit_runs set origin = 'run', plan_fingerprint = 'p'")
        con.execute("update marts.dim_audit_runs set origin = 'run'")
    publish(Warehouse(path), runs)
    return place, runs


def verdicts(place: Path, base: str, candidate: str) -> dict[str, dict[str, Any]]:
    """The published rows of a comparison by measure, as far as they say how it came out."""
    query = (
        f"select measure, {OF_VERDICT} from marts.rpt_run_comparisons "
        "where base_run_id = $base and candidate_run_id = $candidate order by measure"
    )
    rows = Warehouse(place / "warehouse/audit.duckdb").published.read(query, base=base, candidate=candidate)
    return {row["measure"]: row for row in rows}


@pytest.fixture(scope="module")
def compared(nights: tuple[Path, list[str]]) -> dict[tuple[int, int], dict[str, dict[str, Any]]]:
    """The newest pair first, and the older ones, one exchanged, in a build after it."""
    place, runs = nights
    builds = [[(ODD, BACK)], [(SECOND, ODD), (FIRST, SECOND), (ODD, SECOND), (FIRST, BACK)]]
    for pairs in builds:
        named = [(runs[base], runs[candidate]) for base, candidate in pairs]
        compare(
            Warehouse(place / "warehouse/audit.duckdb"),
            [Pair(base_run_id=base, candidate_run_id=candidate, n_resamples=400) for base, candidate in named],
        )
    return {pair: verdicts(place, *(runs[night] for night in pair)) for pairs in builds for pair in pairs}


def test_what_differs_from_both_nights_is_told(nights: Any, compared: Any) -> None:
    found = compared[SECOND, ODD]
    assert {row["confirming_run_id"] for row in found.values()} == {nights[1][FIRST]}
    assert found["label_churn"]["verdict"] == "changed"
    assert found["micro_f1"]["verdict"] == "regressed"
    assert found["micro_f1"]["confirming_size"] == pytest.approx(1 / 3, abs=0.06)  # .9 + .1 / 3 against .4 + .6 / 3


def test_a_night_that_is_as_the_night_before_last_is_no_news(nights: Any, compared: Any) -> None:
    found = compared[ODD, BACK]
    assert {row["confirming_run_id"] for row in found.values()} == {nights[1][SECOND]}
    for measure in ("label_churn", "micro_f1", "sensitivity"):
        row = found[measure]
        assert row["verdict"] == "within_noise", measure
        assert row["reason"] == "not confirmed: it does not hold with a third night"
        assert row["p_value"] < 0.05 < row["confirming_p_value"]
    assert found["micro_f1"]["size"] == pytest.approx(1 / 3, abs=0.06)


def test_quiet_nights_look_at_no_third(compared: Any) -> None:
    for pair, has_third in (((FIRST, SECOND), False), ((FIRST, BACK), True)):
        found = compared[pair].values()
        assert {row["verdict"] for row in found if row["p_value"] is not None} == {"within_noise"}
        assert {row["confirming_run_id"] is not None for row in found} == {has_third}
        assert {row["confirming_p_value"] for row in found} == {None}


def test_exchanged_they_are_confirmed_by_the_same_night(compared: Any) -> None:
    there, back = compared[SECOND, ODD], compared[ODD, SECOND]
    for measure, row in there.items():
        figures = ("p_value", "size", "confirming_run_id", "confirming_size", "confirming_p_value")
        assert [back[measure][name] for name in figures] == [row[name] for name in figures], measure
    assert back["label_churn"]["verdict"] == "changed"
    assert back["micro_f1"]["verdict"] == "improved"


@pytest.mark.usefixtures("compared")
def test_confirmed_figures_come_out_of_the_rows_of_all_three_nights(nights: Any) -> None:
    place, runs = nights
    warehouse = Warehouse(place / "warehouse/audit.duckdb")
    rows = warehouse.published.read(
        "select * from marts.rpt_run_comparisons where base_run_id = $base and candidate_run_id = $candidate",
        base=runs[SECOND], candidate=runs[ODD],
    )  # fmt: skip
    wanted = {"label_churn": "p_value", "micro_f1": "confirming_difference", "sensitivity": "verdict"}
    traces = [
        trace(
            warehouse,
            row_id("rpt_run_comparisons", row).replace(".", f".{wanted[row['measure']]}.", 1),
            with_lineage=False,
        )
        for row in rows
        if row["measure"] in wanted
    ]
    assert {run["audit_run_id"] for run in traces[0].other_runs} == {runs[FIRST], runs[SECOND]}
    assert all(agrees(one.value, other) for one, other in zip(traces, recompute(warehouse, traces), strict=True))


@pytest.mark.usefixtures("compared")
def test_two_versions_of_the_measures_are_never_held_against_each_other(nights: Any) -> None:
    place, runs = nights
    path = place / "warehouse/audit.duckdb"
    with Warehouse(path).write() as con:
        old = "update marts.rpt_audit set measure_version = 1, micro_f1 = 0, sensitivity = 0 where audit_run_id = $1"
        con.execute(old, [runs[SECOND]])
    compare(Warehouse(path), [Pair(base_run_id=runs[SECOND], candidate_run_id=runs[BACK], n_resamples=300)])
    found = verdicts(place, runs[SECOND], runs[BACK])
    assert found["micro_f1"]["size"] < 0.05  # not of the figures that stand there
    assert found["micro_f1"]["cause"] == "promptaudit_changed"
    assert "measure_version 1 -> 2" in found["micro_f1"]["reason"]
    query = "select measure_version from marts.rpt_audit where audit_run_id = $run"
    assert Warehouse(path).read(query, run=runs[SECOND]) == [{"measure_version": 1}]


def test_a_rebuild_gives_the_same_verdicts_and_the_version_of_today(nights: Any, compared: Any) -> None:
    place, runs = nights
    path = place / "warehouse/audit.duckdb"
    assert promptaudit(place, "rebuild").code == 0
    assert {pair: verdicts(place, *(runs[night] for night in pair)) for pair in compared} == compared
    assert verdicts(place, runs[SECOND], runs[BACK])["micro_f1"]["cause"] == "nothing_changed"
    query = "select distinct measure_version from marts.rpt_audit"
    assert len(Warehouse(path).read(query)) == 1


def test_a_night_whose_raw_answers_were_retired_confirms_all_the_same(nights: Any, compared: Any) -> None:
    place, runs = nights
    path = place / "warehouse/audit.duckdb"
    with Warehouse(path).kept_open():
        assert [each.audit_run_id for each in retain(Warehouse(path), "night", 1)] == runs[:3]
    compare(Warehouse(path), [Pair(base_run_id=runs[SECOND], candidate_run_id=runs[ODD], n_resamples=401)])
    found = verdicts(place, runs[SECOND], runs[ODD])
    assert found["label_churn"]["verdict"] == compared[SECOND, ODD]["label_churn"]["verdict"]
