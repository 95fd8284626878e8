"""Four of ten wordings give no label, all else is right: every place that shows a figure counts them, and says which they are."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit import measures
from tests.support.files import write_files
from tests.support.loopback import QuietHandler, completion_of, served_in_threads
from tests.support.shell import promptaudit, sql

N_SAMPLES, BREAKING, PROSE = 40, (3, 5, 7, 8), "The text speaks for itself here."
NAMES = ["Ask", "Check", "Decide", "Tell", "Find out", "Judge", "State", "Determine", "Report", "Answer"]
WORDINGS = [f"{name} whether the customer wants money back." for name in NAMES]
# 6 of 10 wordings give a sample its label, 4 give N/A: -(.6 ln .6 + .4 ln .4) / ln 3
SENSITIVITY = 0.612602
FIGURES = "sensitivity, micro_f1, invalid_rate, n_variants, n_variants_breaking as n_breaking"
SOUND = {"sensitivity": 0, "micro_f1": 1, "invalid_rate": 0, "n_variants": 10, "n_breaking": 0}
RIGHT = SOUND | {
    "sensitivity": pytest.approx(SENSITIVITY, abs=1e-6),
    "micro_f1": pytest.approx(0.6),
    "invalid_rate": 0.4,
    "n_breaking": 4,
}
NIGHTS = f"select {FIGURES} from marts.rpt_audit inner join marts.dim_nights using (audit_run_id) order by started_at"
REGRESSED = (
    "select distinct measure from marts.rpt_night_verdicts where verdict = 'regressed' and audit_run_id = "
    "(select audit_run_id from marts.rpt_latest)"
)
GROUP = ("--model", "m", "--task", "refunds", "--strategy", "simple")


def gold(sample: int) -> str:
    return ("no", "yes")[sample % 2]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Any]]]:
    """A folder with three sound nights and two on which four wordings break, and what each `nightly` printed."""
    folder = tmp_path_factory.mktemp("breaking")
    is_broken = threading.Event()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            prompt = "\n".join(message["content"] for message in self.asked()["messages"])
            wording = next(index for index, wording in enumerate(WORDINGS) if wording in prompt)
            sample = int(re.findall(r"mail (\d+)", prompt)[-1])
            self.send_json(completion_of(PROSE if is_broken.is_set() and wording in BREAKING else gold(sample)))

    with served_in_threads(Handler) as port:
        write_files(
            folder / "cards",
            {
                "models/m.yml": (
                    f"m: {{engine: openai_api, model: small, base_url: 'http://127.0.0.1:{port}/v1', api_key_env: NO_KEY, "
                    "sampling: {temperature: 0, max_tokens: 16}, price: {input_usd_per_mtok: 0, output_usd_per_mtok: 0}}\n"
                ),
                "rephrasers/own.yml": f"own: {{kind: fixed, variants: {{refunds: {WORDINGS[1:]}}}}}\n",
                "tasks/refunds.yml": (
                    f"refunds: {{kind: classification, labels: [yes, no], reader: label, instruction: {WORDINGS[0]}, "
                    "output_format: Reply yes or no., data: {path: mails.csv, id: id, input: text, gold_label: gold}}\n"
                ),
                "mails.csv": "id,text,gold\n" + "".join(f"s{i},mail {i},{gold(i)}\n" for i in range(N_SAMPLES)),
                "audits/mine.yml": (
                    "mine: {tasks: [refunds], models: [m], strategies: [simple], rephrasing: {rephraser: own, variants: 10}, "
                    "repetitions: {original: 1, variants: 1}, samples: {balanced: false}, "
                    "format: {max_invalid_rate: 0.1, policy: quarantine}, "
                    "gate: [sensitivity_high <= 0.2, micro_f1 >= 0.9, invalid_rate <= 0.1, no regressed]}\n"
                ),
            },
        )
        ended = [nightly(folder) for _ in range(3)]
        is_broken.set()
        yield folder, [*ended, nightly(folder), nightly(folder)]


def nightly(folder: Path) -> Any:
    return promptaudit(folder, "nightly", "mine", "--new", "--registry", "cards", NO_KEY="none", PROMPTAUDIT_TRUST="1")


@pytest.mark.slow
def test_the_night_on_which_wordings_break_counts_them_and_regresses(nights: tuple[Path, list[Any]]) -> None:
    folder, ended = nights
    assert [each.code for each in ended] == [0, 0, 0, 1, 1], ended[0].err + ended[-1].out
    assert "policy quarantine means warn now" in ended[0].err
    assert sql(folder, NIGHTS) == [SOUND, SOUND, SOUND, RIGHT, RIGHT]
    (row,) = sql(folder, "select * from marts.rpt_latest")
    assert row["sensitivity_low"] <= SENSITIVITY <= row["sensitivity_high"] <= 1
    assert SENSITIVITY <= row["sensitivity_corrected"] <= 1
    assert (row["sensitivity_unbroken"], row["micro_f1_unbroken"]) == (0, 1)
    assert row["pss_inter"] < 0.5 < row["pss_inter_valid"] == 1
    last = " ".join(ended[3].out.split())
    assert (
        "4 of 10 wordings break (3, 5, 7, 8): 100 % of their answers give no label; without them sensitivity 0.000"
        in last
    )
    verdicts = sql(folder, REGRESSED)
    assert {"micro_f1", "invalid_rate"} <= {each["measure"] for each in verdicts}


@pytest.mark.slow
def test_gate_comparison_history_choice_and_diagnosis_say_the_same(nights: tuple[Path, list[Any]]) -> None:
    folder, _ = nights
    checked = promptaudit(folder, "check", "--registry", "cards", "--json")
    assert checked.code == 1
    assert [rule["outcome"] for rule in checked.json()["rules"]] == ["failed"] * 4
    compared = promptaudit(folder, "compare", "latest~2", "latest", "--registry", "cards", "--json").json()
    verdicts = {row["measure"]: row["verdict"] for row in compared["measures"]}
    assert (verdicts["micro_f1"], verdicts["invalid_rate"]) == ("regressed", "regressed")
    shown = promptaudit(folder, "history", "--audit", "mine", "--registry", "cards").out
    assert "0.613" in shown
    chosen = promptaudit(folder, "choose", "mine", "--registry", "cards", "--json")
    wordings = {each["variant_index"]: each["accuracy"] for each in chosen.json()["choices"][0]["wordings"]}
    assert {index for index, accuracy in wordings.items() if accuracy == 0} == set(BREAKING)
    diagnosed = promptaudit(folder, "diagnose", "latest", *GROUP, "--registry", "cards")
    assert "Sensitivity 0.613" in diagnosed.out


@pytest.mark.slow
def test_the_page_says_the_same(nights: tuple[Path, list[Any]]) -> None:
    folder, _ = nights
    page = (folder / "warehouse/published/report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "4 of 10 wordings break (3, 5, 7, 8): 100 % of their answers give no label" in text
    assert "No sample changes its label" not in text
    assert "Variants that break their format: 4" in text


@pytest.mark.slow
def test_an_import_of_the_same_answers_gives_the_same_figures_and_a_run_that_fails_publishes_nothing(
    tmp_path: Path,
) -> None:
    path = recorded(tmp_path / "answers.parquet")
    ended = promptaudit(tmp_path, "import", path, "--labels", "yes,no", "--resamples", "0")
    assert ended.code == 0, ended.err
    assert "4 of 10 model × variant pairs break their format, and count in every figure" in ended.out
    assert sql(tmp_path, f"select {FIGURES} from marts.rpt_audit") == [RIGHT]
    (kind,) = sql(tmp_path, "select n_variants, sensitivity from marts.fct_variations where variation = 'wording'")
    assert list(kind.values()) == [10, RIGHT["sensitivity"]]
    kept = sql(
        tmp_path,
        "select variant_index, breaking_reason as reason from marts.fct_answer_formats "
        "inner join marts.dim_prompt_variants using (audit_run_id, prompt_variant_id) where is_breaking order by all",
    )
    assert kept == [{"variant_index": index, "reason": "invalid rate 1, allowed 0.1"} for index in BREAKING]

    before = (tmp_path / "warehouse/published/audit.duckdb").read_bytes()
    failed = promptaudit(tmp_path, "import", path, "--labels", "yes,no", "--resamples", "0", "--policy", "fail")
    assert failed.code == 3
    assert failed.one_line().startswith("MeasureError: the format gate failed: model 'm'")
    assert (tmp_path / "warehouse/published/audit.duckdb").read_bytes() == before


def recorded(path: Path) -> Path:
    """The answers of the night as a file."""
    rows = [
        {
            "model": "m",
            "sample_id": f"s{sample}",
            "variant_index": wording,
            "completion": PROSE if wording in BREAKING else gold(sample),
            "gold_label": gold(sample),
        }
        for sample in range(N_SAMPLES)
        for wording in range(10)
    ]
    pl.DataFrame(rows).write_parquet(path)
    return path


def test_the_python_door_counts_them(tmp_path: Path) -> None:
    said = pl.col("completion")
    frame = pl.read_parquet(recorded(tmp_path / "answers.parquet")).with_columns(pl.when(said != PROSE).then(said))
    wide = frame.pivot("variant_index", index="sample_id", values="completion").drop("sample_id")
    found = measures.sensitivity(wide, labels=["yes", "no"])
    assert found.sensitivity == pytest.approx(SENSITIVITY, abs=1e-6)
    assert found.sensitivity_low <= found.sensitivity <= found.sensitivity_high <= 1
    assert found.sensitivity <= found.sensitivity_corrected <= 1
