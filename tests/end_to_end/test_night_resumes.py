"""A night that is cut short at any step goes on at its next start: nothing is asked twice, nothing told twice, nothing lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from promptaudit.audit import steps
from promptaudit.nightly import after_run
from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import Warehouse
from tests.support.shell import Ended, promptaudit, sql
from tests.support.webhook_server import RunningWebhooks, running_webhooks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

AUDIT = """\
small:
  tasks: [question_type]
  models: [lexical]
  rephrasing: {rephraser: rules, variants: 3}
  repetitions: {original: 2, variants: 2}
  samples: {limit: 12}
  resamples: 50
  gate: ["sensitivity_high <= 0.0001"]
"""
N_CELLS = 12 * 3 * 2


@pytest.fixture(scope="module")
def webhooks() -> Iterator[RunningWebhooks]:
    with running_webhooks() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("nights")
    (place / "registry/audits").mkdir(parents=True)
    (place / "registry/audits/small.yml").write_text(AUDIT)
    return place


def nightly(folder: Path, webhooks: RunningWebhooks, *options: str, **variables: str) -> Ended:
    return promptaudit(
        folder,
        "nightly",
        "small",
        "--json",
        *options,
        PROMPTAUDIT_NOTIFY=webhooks.target("/ok/told"),
        PROMPTAUDIT_HEARTBEAT_URL=webhooks.url("/ok/alive"),
        **variables,
    )


def cells(folder: Path) -> list[dict[str, Any]]:
    return sql(folder, "select count(*) as n from raw.predictions group by audit_run_id")


def sent(webhooks: RunningWebhooks) -> list[str]:
    return [request.json()["title"] for request in webhooks.of("/ok/told")]


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_night_that_measures_nothing_links_to_what_to_do(tmp_path: Path, webhooks: RunningWebhooks) -> None:
    (tmp_path / "registry/audits").mkdir(parents=True)
    (tmp_path / "registry/audits/broken.yml").write_text(
        AUDIT.replace("small:", "broken:").replace("lexical", "lexcal")
    )
    told, pages = webhooks.target("/ok/broken"), "https://audits.example.org/"
    ended = promptaudit(tmp_path, "nightly", "broken", PROMPTAUDIT_NOTIFY=told, PROMPTAUDIT_REPORT_URL=pages)
    assert ended.code == 2, ended.err
    (request,) = webhooks.of("/ok/broken")
    assert (
        request.json()["message"].splitlines()[-1]
        == "Runbook: https://audits.example.org/runbooks/could_not_measure.html"
    )
    assert (tmp_path / "warehouse/published/runbooks/could_not_measure.html").is_file()


def test_the_first_night_cut_short_before_its_marts_goes_on(folder: Path, webhooks: RunningWebhooks) -> None:
    derive = steps.build

    def transform(warehouse: Path, runs: list[str], part: str, **options: object) -> None:
        derive(warehouse, runs, part, **options) if part == "up_to_formats" else interrupt()  # type: ignore[arg-type]

    with mock.patch.object(steps, "build", transform):
        assert nightly(folder, webhooks).code == 130
    assert webhooks.of("/ok/alive") == []
    ended = nightly(folder, webhooks)
    assert ended.code == 1, ended.err  # the gate fails, and says so
    assert ended.json()["run"]["n_asked"] == 0
    assert cells(folder) == [{"n": N_CELLS}]
    assert sent(webhooks) == ["small: the gate failed: sensitivity_high <= 0.0001"]
    assert len(webhooks.of("/ok/alive")) == 1


def test_tonight_once_more_asks_and_tells_nothing(folder: Path, webhooks: RunningWebhooks) -> None:
    before = sent(webhooks)
    ended = nightly(folder, webhooks)
    assert ended.code == 1, ended.err
    assert cells(folder) == [{"n": N_CELLS}]
    assert sent(webhooks) == before


@pytest.mark.parametrize(
    ("steps", "audit", "code"),
    [
        (("compare_runs", "check_run", "settle"), AUDIT, 1),
        pytest.param(
            ("notify", "retain"),
            AUDIT.replace("<= 0.0001", "<= 1") + "  retention: {raw_nights: 40}\n",
            0,
            marks=pytest.mark.soak,
        ),
    ],
)
def test_cut_short_after_its_run_again_and_again_the_night_goes_on(
    folder: Path, webhooks: RunningWebhooks, steps: tuple[str, ...], audit: str, code: int
) -> None:
    if not (folder / "warehouse/published").exists():  # the first of its file
        nightly(folder, webhooks)
    n_runs, before = len(cells(folder)), sent(webhooks)
    (folder / "registry/audits/small.yml").write_text(audit)
    new: tuple[str, ...] = ("--new",)
    for step in steps:
        with mock.patch(f"promptaudit.nightly.after_run.{step}", interrupt):
            assert nightly(folder, webhooks, *new).code == 130
        new = ()
    ended = nightly(folder, webhooks)
    assert ended.code == code, ended.err
    assert cells(folder) == [{"n": N_CELLS}] * (n_runs + 1)
    assert len(sent(webhooks)) - len(before) <= 1
    (folder / "registry/audits/small.yml").write_text(AUDIT)


def test_what_fails_after_the_run_is_told_once_and_made_up_for(folder: Path, webhooks: RunningWebhooks) -> None:
    def broken(*_: object, **__: object) -> None:
        msg = "the disk is full"
        raise WarehouseError(msg)

    before = len(sent(webhooks))
    with mock.patch("promptaudit.nightly.after_run.compare_runs", broken):
        for _ in range(2):
            ended = nightly(folder, webhooks)
            assert ended.code == 2
            assert "the disk is full" in ended.one_line()
    assert [title for title in sent(webhooks)[before:] if "could not be measured" in title] == sent(webhooks)[before:]
    assert len(sent(webhooks)) == before + 1
    assert nightly(folder, webhooks).code == 1


def test_a_defect_is_told_like_any_failure_and_keeps_no_later_night(folder: Path, webhooks: RunningWebhooks) -> None:
    def defect(*_: object, **__: object) -> None:
        raise KeyError("Which answer?")  # noqa: EM101, TRY003 - what a defect says may quote an answer

    def of_older(after: after_run.AfterRun, *rest: Any) -> after_run.Ending:
        return after_run.finish(after, *rest) if after.at is None else defect()  # type: ignore[return-value,func-returns-value]

    n_runs, before, alive = len(cells(folder)), len(sent(webhooks)), len(webhooks.of("/ok/alive"))
    # in mid-run, and then in landing the alarm
    with mock.patch.object(steps, "build", defect), mock.patch("promptaudit.nightly.night.settle", defect):
        ended = nightly(folder, webhooks, "--new")
    assert ended.code == 2
    assert "the alarm did not land: KeyError, a defect" in ended.err
    assert "KeyError: 'Which answer?' (a defect: run with --debug and tell us)" in ended.err.splitlines()[-1]
    assert len(sent(webhooks)) == before + 1
    message = webhooks.of("/ok/told")[-1].json()
    assert "could not be measured" in message["title"]
    assert "KeyError, a defect" in str(message)
    assert "Which answer?" not in str(message)
    assert len(webhooks.of("/ok/alive")) == alive + 1
    # the next start goes on with its run, and fails in a step that follows it
    with mock.patch("promptaudit.nightly.after_run.compare_runs", defect):
        assert nightly(folder, webhooks).code == 2
    assert cells(folder) == [{"n": N_CELLS}] * (n_runs + 1)
    # a defect that only the older night has keeps tonight's from being measured no longer
    with mock.patch("promptaudit.nightly.night.finish", of_older):
        ended = nightly(folder, webhooks, "--new")
    assert ended.code == 1, ended.err
    assert "stays unfinished: KeyError, a defect" in ended.err
    assert cells(folder) == [{"n": N_CELLS}] * (n_runs + 2)


def test_a_night_that_hangs_is_stopped_told_and_made_up_for(folder: Path, webhooks: RunningWebhooks) -> None:
    before = len(sent(webhooks))
    with (
        mock.patch("promptaudit.nightly.after_run.compare_runs", side_effect=lambda *_, **__: time.sleep(60)),
        mock.patch("promptaudit.nightly.night.longest", return_value=timedelta(seconds=3)),
    ):
        ended = nightly(folder, webhooks)
    assert ended.code == 3
    assert "the night of 'small' took longer than 3 s and was stopped" in ended.one_line()
    assert len(sent(webhooks)) == before + 1
    assert nightly(folder, webhooks).code == 1


def test_a_second_night_refuses_and_stays_silent(folder: Path, webhooks: RunningWebhooks) -> None:
    n_alive, before = len(webhooks.of("/ok/alive")), sent(webhooks)
    with Warehouse(folder / "warehouse/audit.duckdb").hold(what="night"):
        ended = nightly(folder, webhooks, PROMPTAUDIT_LOCK_WAIT_S="0")
    assert ended.code == 2
    assert "WarehouseLocked" in ended.one_line()
    assert len(webhooks.of("/ok/alive")) == n_alive
    assert sent(webhooks) == before


def test_a_card_that_cannot_be_read_is_told(folder: Path, webhooks: RunningWebhooks) -> None:
    before, n_alive = len(sent(webhooks)), len(webhooks.of("/ok/alive"))
    (folder / "registry/audits/small.yml").write_text(AUDIT.replace("lexical", "lexicall"))
    ended = nightly(folder, webhooks)
    assert ended.code == 2
    assert "nearest: lexical" in ended.one_line()
    assert len(sent(webhooks)) == before + 1
    assert len(webhooks.of("/ok/alive")) == n_alive, "no night took place"


def test_whatever_a_night_writes_is_its_owners_alone(folder: Path) -> None:
    written = [folder / "warehouse", *(folder / "warehouse").rglob("*")]
    assert len(written) > 100
    assert [path for path in written if path.lstat().st_mode & 0o077 and not path.is_symlink()] == []
