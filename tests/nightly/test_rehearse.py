"""An alarm that is rehearsed: which night tells of which fault, and that the warehouse stays as it was, byte by byte."""

from __future__ import annotations

import hashlib
import re
import resource
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from promptaudit.audit.rebuild import rebuild_runs
from promptaudit.nightly.faults import Answer, Copy, Fault, fault_of, incident_of, land_copy
from promptaudit.registry.errors import UsageError
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from tests.support.prebuilt_folders import shape
from tests.support.shell import promptaudit, promptaudit_process

CARD = """facts:
  tasks: [short_facts]
  models: [steady]
  judges: [matcher]
  repetitions: {original: 1, variants: 1}
  samples: {limit: 24}
  format: {policy: warn, max_invalid_rate: 1, max_invalid_rate_at_first: 1}
  gate: ["no regressed", "no drift of judge:matcher"]
  resamples: 200
"""
OPTIONS = ("--registry", "registry", "--quiet")
SECONDS = 60  # of one processor

answers = [
    Answer(f"{sample} {wording}", sample, wording, sample != "s9")
    for sample in (f"s{n}" for n in range(10))
    for wording in "abc"
]


def test_samples_that_were_right_are_lost_under_every_wording() -> None:
    incident = incident_of(Fault(lose=4), answers)
    assert len(incident.sample_ids) == 4
    assert "s9" not in incident.sample_ids
    struck = incident.struck(answers, 0)
    assert struck == [each.prediction_id for each in answers if each.sample_id in incident.sample_ids]
    assert incident.struck(answers, 2) == struck
    assert incident_of(Fault(lose=4), reversed(answers)) == incident
    with pytest.raises(UsageError, match="--lose 10: only 9 samples are right in most of their answers"):
        incident_of(Fault(lose=10), answers)


def test_a_shift_strikes_a_share_of_the_right_answers_others_each_night() -> None:
    incident = incident_of(Fault(shift=-1 / 3), answers)
    first, second = (incident.struck(answers, night) for night in (0, 1))
    assert len(first) == len(second) == 9  # a third of 27
    assert set(first) != set(second)
    assert not [each for each in first + second if each.startswith("s9")]


def test_a_wording_breaks_for_every_sample() -> None:
    struck = incident_of(Fault(breaks_wording=True), answers).struck(answers, 0)
    assert len(struck) == 10
    assert len({each.split()[1] for each in struck}) == 1


def test_an_option_names_a_fault() -> None:
    none: dict[str, Any] = {"lose": None, "shift": None, "breaks_wording": False, "swaps_judge": False}
    assert fault_of(**none) is None
    assert str(fault_of(**none | {"shift": -0.05})) == "0.05 of the right answers wrong"
    assert str(fault_of(**none | {"lose": 1})) == "1 sample lost"


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("facts", "--lose", "2", "--swap-judge"), 2, "--lose, --shift, --break-wording and --swap-judge: name one of them"),
        (("facts", "--shift", ".05"), 2, "--shift 0.05: a share of the right answers that becomes wrong, from -1 to below 0"),
        (("facts", "--lose", "0"), 2, "--lose"),
        (("fact",), 2, "audit 'fact'; nearest: facts"),
        (("--lose", "2"), 2, "name the audit whose nights get the fault"),
        (("facts",), 3, "it has 0 of the 3 normal nights that a rehearsal needs: `promptaudit nightly facts` records one"),
    ],
)  # fmt: skip
def test_what_cannot_be_rehearsed_is_one_line(tmp_path: Path, arguments: tuple[str, ...], code: int, line: str) -> None:
    cards(tmp_path)
    ended = promptaudit(tmp_path, "rehearse", *arguments, *OPTIONS)
    assert ended.code == code
    assert line in ended.one_line()
    assert not (tmp_path / "warehouse").exists()


def cards(folder: Path) -> None:
    (folder / "registry" / "audits").mkdir(parents=True)
    (folder / "registry" / "audits" / "facts.yml").write_text(CARD)


def three_nights(folder: Path) -> None:
    """Three nights of a judged audit: one that asked, and two copies of it before."""
    cards(folder)
    ran = promptaudit(folder, "run", "facts", "--json", *OPTIONS)
    settings = Settings(warehouse=folder / "warehouse" / "audit.duckdb")
    with Warehouse(settings.warehouse).write() as con:
        ((at,),) = con.execute("select started_at from raw.audit_runs").fetchall()
        for night in (1, 2):
            land_copy(con, Copy(ran.json()["audit_run_id"], f"{night}" * 32, at - timedelta(days=night)))
        con.execute("update raw.audit_runs set state = 'complete', finished_at = started_at")
    rebuild_runs(settings, None, Progress(quiet=True))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / "recorded"
    folder.mkdir()
    shape("rehearsed nights", three_nights, folder)
    return folder


def hashes(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
def test_lost_samples_are_told_and_nothing_is_written_or_sent(recorded: Path, tmp_path: Path) -> None:
    before = hashes(recorded)
    ended = promptaudit(
        recorded,
        "rehearse",
        "facts",
        "--json",
        *OPTIONS,
        "--folder",
        tmp_path / "kept",
        PROMPTAUDIT_LAKE=str(tmp_path / "lake.ducklake"),
        PROMPTAUDIT_NOTIFY="json://127.0.0.1:9/nobody",
        PROMPTAUDIT_HEARTBEAT_URL="http://127.0.0.1:9/nobody",
    )
    assert ended.code == 0, ended.err
    rehearsal = ended.json()
    assert (rehearsal["fault"], rehearsal["model_id"], rehearsal["strategy"]) == (
        "4 samples lost under every wording",
        "steady",
        "simple",
    )
    assert rehearsal["n_normal"] == 3
    assert rehearsal["told_on"] == len(rehearsal["nights"]) == 2  # three normal nights leave one odd one to chance
    last = rehearsal["nights"][-1]
    assert (last["state"], last["exit_code"]) == ("regressed", 1)
    assert last["title"].startswith("facts: steady regressed")
    assert "lost_samples" in last["message"]
    assert Path(last["report"]).is_file()
    assert hashes(recorded) == before
    assert not list(tmp_path.glob("lake*"))
    again = promptaudit(recorded, "rehearse", "facts", *OPTIONS, "--folder", tmp_path / "kept")
    assert again.code == 2
    assert again.one_line().endswith("there is something already; name a folder that is new or empty")


@pytest.mark.slow
def test_a_fault_that_no_night_tells_of_is_1(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptaudit.nightly.rehearse.NIGHTS", 1)
    ended = promptaudit(recorded, "rehearse", "facts", *OPTIONS)
    assert ended.code == 1, ended.err
    fault = "4 samples lost under every wording: steady / short_facts / simple"
    assert ended.out.splitlines()[-1] == f"NOT TOLD  {fault}, on none of 1 nights, against 3 normal nights"


@pytest.mark.slow
def test_a_judge_that_is_swapped_is_told_as_the_judge(recorded: Path) -> None:
    ended = promptaudit(recorded, "rehearse", "facts", "--swap-judge", *OPTIONS)
    assert ended.code == 0, ended.err
    assert (
        "TOLD      another model in the judge's place: judge:matcher / short_facts / anchors, on night 1" in ended.out
    )
    assert "judge_served_model promptaudit/matcher -> another-judge" in ended.out
    assert ended.out.splitlines()[-1] == "kept      nothing; --folder keeps the nights and their pages"


@pytest.mark.slow
def test_a_wording_that_breaks_is_told(recorded: Path) -> None:
    ended = promptaudit(recorded, "rehearse", "facts", "--break-wording", "--json", *OPTIONS)
    assert ended.code == 0, ended.err
    assert ended.json()["told_on"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "change", "code", "line"),
    [
        (("--model", "stedy"), "", 2, "--model stedy: the newest night of 'facts' has none; nearest: steady"),
        (("--model", "judge:matcher"), "", 2, "the newest night of 'facts' has a judge alone there"),
        (("--model", "steady", "--swap-judge"), "", 2, "the newest night of 'facts' has no judge there"),
        (("--lose", "25"), "", 2, "--lose 25: only "),
        ((), "delete from marts.rpt_night_states where night = 3", 3, "it has 2 of the 3 normal nights that a rehearsal needs"),
        ((), "update marts.rpt_night_states set state = 'regressed' where night = 3", 3, "its newest night is regressed"),
        ((), "delete from raw.predictions", 3, "the answers of its normal nights are in the archive"),
    ],
)  # fmt: skip
def test_nights_that_cannot_be_rehearsed_on_are_one_line(
    recorded: Path, arguments: tuple[str, ...], change: str, code: int, line: str
) -> None:
    if change:
        published = recorded / "warehouse" / "published" / "audit.duckdb"
        other = recorded / "other.duckdb"
        shutil.move(published, other)
        with Warehouse(other).write() as con:
            con.execute(change)
        shutil.move(other, published)
    ended = promptaudit(recorded, "rehearse", "facts", *arguments, *OPTIONS)
    assert ended.code == code
    assert line in ended.one_line()


@pytest.mark.slow
def test_two_weeks_are_played_offline_in_a_minute_of_a_processor(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = promptaudit_process(tmp_path, "rehearse", "--folder", "two weeks")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    nights = [line for line in lines if re.match(r"\d{4}-\d\d-\d\d  ", line)]
    assert [night.split("  ")[1] for night in nights] == ["first night"] + ["normal"] * 5 + ["regressed"] * 2 + [
        "recovering",
        "recovered",
    ]
    assert [int(night.partition("exit code ")[2][0]) for night in nights] == [0, 0, 0, 0, 0, 0, 1, 1, 1, 0]
    assert "two_weeks: student regressed" in ended.out
    # the mean of the six normal nights, all of which an earlier build took for first ones
    assert "micro_f1: 0.807 → 0.683, -0.124" in ended.out
    assert Path(tmp_path, lines[-1].removeprefix("report    ")).is_file()
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS
