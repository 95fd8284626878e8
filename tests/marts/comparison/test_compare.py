"""Two runs compared from the shell: recorded answers in, verdicts and reasons out, in marts and on the terminal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import Recorded, published
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

LABELS = ("a", "b", "c")
N_SAMPLES, N_VARIANTS = 60, 12


def answers(*, skill: dict[str, float], seed: int, confused: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Answers of models that know the label as often as `skill` says, each asked twice under every wording.

    `bad` calls the samples in `confused` b.
    """
    dice = random.Random(seed)
    rows = []
    for model, knows in skill.items():
        for sample in range(N_SAMPLES):
            gold = LABELS[sample % len(LABELS)]
            for variant in range(N_VARIANTS):
                for repetition in (1, 2):
                    said = gold if dice.random() < knows else dice.choice(LABELS)
                    said = "b" if model == "bad" and f"s{sample}" in confused else said
                    rows.append(
                        {
                            "model": model,
                            "task": "asked",
                            "sample_id": f"s{sample}",
                            "variant_index": variant,
                            "is_original": variant == 0,
                            "repetition": repetition,
                            "gold_label": gold,
                            "completion": said,
                        }
                    )
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nights of one audit: `good` stays, `bad` falls on the fifth after four alike, the last has another label set."""
    place = tmp_path_factory.mktemp("compared")
    (place / "warehouse").mkdir()
    quiet = [(seed, 0.9, LABELS, ()) for seed in (3, 4, 5, 1)]
    nights = [
        Recorded(
            "night", answers(skill={"good": 0.9, "bad": knows}, seed=seed, confused=confused), labels, FormatLimits()
        )
        for seed, knows, labels, confused in (*quiet, (2, 0.6, LABELS, ("s0", "s3")), (6, 0.6, (*LABELS, "d"), ()))
    ]
    published(place / "warehouse", nights, n_nights=5)
    return place


@pytest.fixture(scope="module")
def compared(folder: Path) -> Any:
    ended = promptaudit(folder, "compare", "night~2", "night~1", "--json")
    assert ended.code == 0, ended.err
    return ended.json()


def of(found: Any, model: str, measure: str) -> Any:
    (row,) = (r for r in found["measures"] if (r["model_id"], r["measure"]) == (model, measure))
    return row


def test_the_decision_comes_first_and_what_it_rests_on_is_said(folder: Path, compared: Any) -> None:
    first, *rest = promptaudit(folder, "compare", "night~2", "night~1").out.splitlines()
    row = of(compared, "bad", "micro_f1")
    assert first.startswith("The candidate is worse than the base: micro_f1 ")
    assert " on these 60 samples of asked, -0." in first
    assert (
        "nights     held against up to 4 normal nights; what is said holds for these samples under these wordings"
        in rest
    )
    assert (row["claim"], row["n_alike_nights"]) == ("these samples under these wordings", 4)


def test_two_nights_of_which_nothing_else_is_known_confirm_nothing(folder: Path) -> None:
    found = promptaudit(folder, "compare", "night~5", "night~1", "--json").json()
    row = of(found, "bad", "micro_f1")
    early = promptaudit(folder, "compare", "night~5", "night~4", "--json").json()
    assert row["verdict"] == "regressed"  # of the later one three normal nights are known
    assert {row["n_alike_nights"] for row in early["measures"] if row["p_value"] is not None} == {0}
    assert {row["verdict"] for row in early["measures"] if row["p_value"] is not None} <= {"none_shown", "unconfirmed"}


def test_what_fell_regressed_and_what_stayed_is_none_shown(compared: Any) -> None:
    assert of(compared, "bad", "micro_f1")["verdict"] == "regressed"
    # .9 + .1 / 3 against .6 + .4 / 3
    assert of(compared, "bad", "micro_f1")["difference"] == pytest.approx(-0.2, abs=0.05)
    assert of(compared, "bad", "sensitivity")["verdict"] == "regressed"
    # across runs 1 - (.933 x .733 + 2 x .033 x .133) = .307, within .277 on average
    assert of(compared, "bad", "label_churn")["candidate"] == pytest.approx(0.307, abs=0.03)
    assert of(compared, "bad", "label_churn")["verdict"] == "changed"
    verdicts = {r["verdict"] for r in compared["measures"] if r["model_id"] == "good" and r["p_value"] is not None}
    assert verdicts <= {"none_shown", "same"}


def test_the_confusion_that_grew_most_is_told_in_the_words_of_the_task(folder: Path, compared: Any) -> None:
    (row,) = compared["moved"]
    assert (row["model_id"], row["task_id"], row["strategy"]) == ("bad", "asked", "simple")
    assert (row["moved_gold_label"], row["moved_label"], row["n_moved"], row["n_moved_before"]) == ("a", "b", 2, 0)
    ended = promptaudit(folder, "compare", "night~2", "night~1")
    words = "samples called b that are a: 2 of 20, 0 of 20 in the base"
    assert f"moved      bad / asked / simple: {words}" in ended.out
    page = folder / ended.out.splitlines()[-1].removeprefix("report").strip()
    assert words in page.read_text(encoding="utf-8")


def test_nothing_recorded_explains_it(compared: Any) -> None:
    row = of(compared, "bad", "micro_f1")
    assert row["cause"] == "nothing_changed"
    assert row["reason"].startswith("nothing that was recorded changed: drift, since the same cells")
    assert of(compared, "good", "micro_f1")["reason"].startswith("nothing that was recorded changed: drift or noise")


def test_flips_are_listed(compared: Any) -> None:
    flipped = {row["flip"] for row in compared["flips"] if row["model_id"] == "bad"}
    assert "became_unsteady" in flipped
    assert not [row for row in compared["flips"] if row["model_id"] == "good" and row["flip"] == "became_wrong"]


def test_figures_are_the_scorecards(folder: Path, compared: Any) -> None:
    scorecard = sql(
        folder,
        "select model_id, sensitivity, consistency, micro_f1, pss_inter, invalid_rate from marts.rpt_audit "
        f"where audit_run_id = '{compared['runs'][1]['audit_run_id']}'",
    )
    for row in scorecard:
        for measure in ("sensitivity", "consistency", "micro_f1", "pss_inter", "invalid_rate"):
            assert of(compared, row["model_id"], measure)["candidate"] == pytest.approx(row[measure], abs=1e-9), measure


def test_q_values_are_benjamini_and_hochbergs(compared: Any) -> None:
    from scipy.stats import false_discovery_control

    rows = [row for row in compared["measures"] if row["p_value"] is not None]
    assert [row["q_value"] for row in rows] == pytest.approx(
        false_discovery_control([row["p_value"] for row in rows]).tolist(), abs=1e-12
    )


def test_exchanged_the_sign_flips_and_p_stays(folder: Path, compared: Any) -> None:
    back = promptaudit(folder, "compare", "night~1", "night~2", "--json").json()
    for row in compared["measures"]:
        if row["p_value"] is None or row["measure"] == "label_churn":
            continue
        other = of(back, row["model_id"], row["measure"])
        assert other["difference"] == pytest.approx(-row["difference"], abs=1e-12)
        assert other["p_value"] == pytest.approx(row["p_value"], abs=1e-12)
    assert of(back, "bad", "micro_f1")["verdict"] == "improved"


def test_another_label_set_is_not_comparable_and_says_so(folder: Path) -> None:
    ended = promptaudit(folder, "compare", "latest~1")
    assert ended.code == 0, ended.err
    assert "22 not comparable" in ended.out  # two models, eleven measures
    page = folder / ended.out.splitlines()[-1].removeprefix("report").strip()
    assert "Not comparable" in page.read_text(encoding="utf-8")
    assert "not comparable: other label set" in ended.out


def test_what_came_out_is_told_though_its_page_cannot_be_written(folder: Path) -> None:
    earlier = promptaudit(folder, "compare", "latest~1")
    failing = "promptaudit.report.complete.write_if_possible"
    with mock.patch(failing, side_effect=WarehouseError("no room is left")):
        ended = promptaudit(folder, "compare", "latest~1")
    assert ended.code == 2
    assert ended.one_line().endswith("no room is left")
    assert ended.out.splitlines() == earlier.out.splitlines()[:-1]


def test_what_is_published_needs_no_warehouse_and_what_is_not_says_what_it_waits_for(
    folder: Path, compared: Any
) -> None:
    with Warehouse(folder / "warehouse" / "audit.duckdb").hold(by="the night of 'night'"):
        again = promptaudit(folder, "compare", "night~2", "night~1", "--json", PROMPTAUDIT_LOCK_WAIT_S="0")
        other = promptaudit(
            folder, "compare", "night~2", "night~1", "--min-effect", "0.3", PROMPTAUDIT_LOCK_WAIT_S="0.3"
        )
    assert again.json()["comparison_id"] == compared["comparison_id"]
    assert other.code == 2
    waiting, said = other.err.splitlines()
    assert waiting.startswith("waiting up to 0.3 s for warehouse/audit.duckdb: held by the night of 'night', process ")
    assert "run this again once it has ended" in said


def test_two_models_of_one_run(folder: Path) -> None:
    found = promptaudit(folder, "compare", "good", "bad", "--json").json()
    assert {row["model_id"] for row in found["measures"]} == {"bad"}
    assert {row["base_model_id"] for row in found["measures"]} == {"good"}
    assert of(found, "bad", "micro_f1")["verdict"] == "regressed"
    assert of(found, "bad", "micro_f1")["cause"] == "other_model"
    page = Path(found["report"])
    assert page.as_posix() == f"warehouse/published/reports/comparison-{found['comparison_id'][:12]}.html"
    assert "good and bad compared" in (folder / page).read_text(encoding="utf-8")
    again = promptaudit(folder, "compare", "latest:good", ":bad", "--json").json()
    assert again["comparison_id"] == found["comparison_id"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("nihgt", "latest"), "no complete run is 'nihgt'; nearest: night"),
        (("night~6", "latest"), "'night~6': audit 'night' has 6 complete runs up to there"),
        (("latest", "latest"), "'latest' and 'latest' are the same"),
        (("latest:good", "latest~1"), "name a model of both, or of neither"),
        (("latest:god", "latest~1:bad"), "nearest: good"),
        (("nothing:b:c~x~y", "latest"), "no complete run is 'nothing'"),
    ],
)
def test_a_name_of_nothing_is_one_line(folder: Path, names: tuple[str, str], said: str) -> None:
    ended = promptaudit(folder, "compare", *names)
    assert ended.code == 2
    assert said in ended.one_line()


@pytest.mark.soak
def test_a_rebuild_derives_the_comparisons_again_and_agrees(folder: Path, compared: Any) -> None:
    assert promptaudit(folder, "rebuild").code == 0
    again = promptaudit(folder, "compare", "night~2", "night~1", "--json").json()
    assert again["comparison_id"] == compared["comparison_id"]
    for row in compared["measures"]:
        other = of(again, row["model_id"], row["measure"])
        for figure in ("base", "candidate", "difference", "difference_low", "p_value", "q_value"):
            expected = row[figure]
            assert other[figure] == (None if expected is None else pytest.approx(expected, abs=1e-9)), figure


def test_compared_again_nothing_is_derived_and_nothing_sealed_over(folder: Path, compared: Any) -> None:
    assert promptaudit(folder, "verify").code == 0
    with Warehouse(folder / "warehouse/audit.duckdb").write() as con:
        con.execute("update marts.rpt_run_comparisons set difference = 0 where measure = 'micro_f1'")
    again = promptaudit(folder, "compare", "night~2", "night~1", "--json").json()
    assert again["comparison_id"] == compared["comparison_id"]
    ended = promptaudit(folder, "verify")
    assert ended.code == 1
    assert "marts.rpt_run_comparisons" in ended.out
    assert "column difference" in ended.out
