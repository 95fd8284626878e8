"""Nights that stop early: a provider on loopback that counts what it is asked, and nights that are killed and go on."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_audit import AUDIT, query, write_cards
from tests.support.nights_cut_short import LIMITS, kept, killed_between_answers, killed_when_it_says
from tests.support.provider_server import Provider, running_provider
from tests.support.shell import Ended, promptaudit, sql
from udfs.designs.stopping import N_LOOKS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

KEY = "sk-test-0123456789abcdef0123456789abcdef"
N_SAMPLES, N_WORDINGS, N_ASKS = 60, 6, 2
N_CELLS = N_SAMPLES * N_WORDINGS * N_ASKS
N_BATCH = N_CELLS // N_LOOKS
STOP = "  stop: compare\n  min_effect: 0.1\n"
LOOKS = "select * exclude (audit_run_id, looked_at) from raw.looks where audit_run_id = ? order by all"


def write_nights(folder: Path, provider: Provider, audit: str = STOP) -> None:
    write_cards(
        folder / "registry", provider.base_url, n_samples=N_SAMPLES, variants=N_WORDINGS, repetitions=N_ASKS, limits=LIMITS,
        sampling="{temperature: 1, max_tokens: 16, seed: 7}", audit=f"{audit}  resamples: 200\n",
    )  # fmt: skip


def nightly(folder: Path, *options: str) -> Ended:
    return promptaudit(folder, "nightly", AUDIT, "--json", *options, AUDIT_KEY=KEY)


def looks_of(folder: Path, run: str) -> list[tuple[Any, ...]]:
    return query(folder / "warehouse/audit.duckdb", LOOKS, [run])


@dataclass
class Night:
    """What a night left: its run, the requests that it made, and how often each cell was asked."""

    run: str
    n_requests: int
    asked: Counter[str]
    ended: Ended


@dataclass
class Nights:
    """A whole night; the next, stopped though it was killed twice; the same unkilled, by two askers; one after a change."""

    folder: Path
    first: Night
    killed: Night
    changed: Night
    by_two: Night
    beside: Path
    looked_at: dict[int, set[Any]] = field(default_factory=dict)


def told(folder: Path, provider: Provider, *options: str) -> Night:
    """A night and what it asked, from where the provider's counts stand."""
    before, asked = provider.n_requests, provider.n_asked.copy()
    ended = nightly(folder, *options)
    assert ended.code == 0, ended.err
    return Night(ended.json()["audit_run_id"], provider.n_requests - before, provider.n_asked - asked, ended)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    folder, beside = (tmp_path_factory.mktemp(name) for name in ("killed", "by_two"))
    with running_provider() as provider:
        provider.skill = 0.97
        write_nights(folder, provider)
        first = told(folder, provider)
        answered, n_first = provider.n_asked.copy(), provider.n_requests
        shutil.copytree(folder, beside, dirs_exist_ok=True)
        write_nights(beside, provider, f"{STOP}  askers: 2\n")
        by_two = told(beside, provider, "--new")

        provider.n_asked, provider.n_requests = answered.copy(), n_first
        command = ("nightly", AUDIT)
        killed_between_answers(folder, provider, n_first + N_BATCH + N_BATCH // 2, *command, "--new", AUDIT_KEY=KEY)
        assert kept(folder) == provider.n_requests
        at_first = looked_at(folder)
        killed_when_it_says(folder, f"looking at 2 of {N_LOOKS} batches", *command, AUDIT_KEY=KEY)
        assert kept(folder) == provider.n_requests == n_first + 2 * N_BATCH
        assert looked_at(folder) == at_first
        rest = told(folder, provider)
        killed = Night(rest.run, provider.n_requests - n_first, provider.n_asked - answered, rest.ended)

        provider.served_model, provider.skill = "small-2026-06-30", 0.5
        changed = told(folder, provider, "--new")
        yield Nights(folder, first, killed, changed, by_two, beside, at_first)


def looked_at(folder: Path) -> dict[int, set[Any]]:
    """When each look was taken."""
    rows = query(folder / "warehouse/audit.duckdb", "select look, looked_at from raw.looks")
    return {look: {at for other, at in rows if other == look} for look, _ in rows}


def scorecard(folder: Path, run: str) -> dict[str, Any]:
    (row,) = sql(folder, f"select * exclude (audit_run_id) from marts.rpt_audit where audit_run_id = '{run}'")
    return row


def test_a_first_night_has_nothing_to_be_compared_with_and_is_whole(nights: Nights) -> None:
    assert nights.first.n_requests == N_CELLS
    assert looks_of(nights.folder, nights.first.run) == []


def test_a_quiet_night_stops_and_asks_no_cell_twice(nights: Nights) -> None:
    stopped = nights.killed
    assert set(stopped.asked.values()) == {1}
    row = scorecard(nights.folder, stopped.run)
    assert stopped.n_requests == row["n_planned"] == row["n_landed"] == len(stopped.asked)
    assert 2 * N_BATCH <= stopped.n_requests < N_CELLS
    assert stopped.n_requests % N_BATCH == 0
    assert any(note.startswith("stopped early") for note in stopped.ended.json()["run"]["notes"])


def test_a_look_that_was_landed_before_a_kill_is_not_decided_again(nights: Nights) -> None:
    assert set(nights.looked_at) == {1}
    rows = query(
        nights.folder / "warehouse/audit.duckdb",
        "select look, looked_at from raw.looks where audit_run_id = ?",
        [nights.killed.run],
    )
    assert {at for look, at in rows if look == 1} == nights.looked_at[1]
    assert max(look for look, _ in rows) * N_BATCH == nights.killed.n_requests


def test_a_killed_night_ends_as_one_by_two_askers_that_was_left_alone(nights: Nights) -> None:
    killed, other, place = nights.killed, nights.by_two, nights.beside
    assert other.asked == killed.asked
    assert looks_of(place, other.run) == looks_of(nights.folder, killed.run)
    row, same = scorecard(nights.folder, killed.run), scorecard(place, other.run)
    timed = {column for column in row if "latency" in column or column.endswith("_at")}
    assert {column: row[column] for column in row.keys() - timed} == {
        column: same[column] for column in row.keys() - timed
    }


def compared(nights: Nights, candidate: Night) -> dict[str, dict[str, Any]]:
    rows = sql(
        nights.folder,
        f"select * from marts.rpt_run_comparisons where candidate_run_id = '{candidate.run}' order by measure",
    )
    assert {row["base_run_id"] for row in rows} == {nights.first.run}
    return {row["measure"]: row for row in rows}


def test_a_quiet_night_is_compared_on_what_it_has(nights: Nights) -> None:
    found = compared(nights, nights.killed)
    assert found["micro_f1"]["verdict"] == "within_noise"
    assert not {row["verdict"] for row in found.values()} & {"regressed", "improved", "changed"}


def test_a_provider_that_changed_is_found_early(nights: Nights) -> None:
    changed = nights.changed
    assert changed.n_requests == scorecard(nights.folder, changed.run)["n_planned"] < N_CELLS
    found = compared(nights, changed)  # with the whole night, not with the one before it, which stopped
    assert found["micro_f1"]["verdict"] == "regressed"
    assert found["micro_f1"]["cause"] == "provider_changed_the_model"
    (last,) = [row for row in looks_of(nights.folder, changed.run) if "micro_f1" in row and "moved" in row][-1:]
    assert last[3] * N_BATCH == changed.n_requests


def test_the_history_has_the_verdicts_on_the_last_whole_night(nights: Nights) -> None:
    told = promptaudit(nights.folder, "history", "micro_f1", "--audit", AUDIT, "--json").json()["nights"]
    assert [night["verdict"] for night in told] == [None, "within_noise", "regressed"]
    assert told[0]["n_samples"] == N_SAMPLES > told[1]["n_samples"] > told[2]["n_samples"]


def test_a_stopped_night_is_no_baseline(nights: Nights) -> None:
    refused = promptaudit(nights.folder, "pin", nights.killed.run, "release")
    assert refused.code == 2
    assert "stopped before all samples were asked" in refused.one_line()
    assert promptaudit(nights.folder, "pin", nights.first.run, "release").code == 0


def test_stopped_nights_are_untouched_and_their_figures_derived_again(nights: Nights) -> None:
    folder = nights.folder
    verified = promptaudit(folder, "verify")
    assert verified.code == 0, verified.out + verified.err
    assert verified.out.count("untouched") >= 3
    page = (folder / promptaudit(folder, "report", nights.killed.run, "--json").json()["report"]).read_text(
        encoding="utf-8"
    )
    digits = next(word for word in page.replace('"', " ").split() if word.startswith("rpt_audit.micro_f1.")).split(".")[
        2
    ]
    figures = [f"rpt_audit.{name}.{digits}" for name in ("micro_f1", "sensitivity")]
    traced = promptaudit(folder, "trace", *figures, "--recompute")
    assert traced.code == 0, traced.out + traced.err
    assert traced.out.count(", the same") == len(figures)


def test_a_sample_that_a_stopped_night_did_not_ask_has_no_answers_to_try_against(nights: Nights) -> None:
    folder = nights.folder
    unasked = sql(
        folder,
        f"select sample_id from marts.dim_samples where audit_run_id = '{nights.changed.run}' and sample_id not in "
        f"(select sample_id from marts.fct_predictions where audit_run_id = '{nights.changed.run}') order by 1",
    )
    assert len(unasked) * N_WORDINGS * N_ASKS == N_CELLS - nights.changed.n_requests
    tried = ("try", AUDIT, "--on", unasked[0]["sample_id"], "--add", "Think first.", "--no-control")
    refused = promptaudit(folder, *tried, AUDIT_KEY=KEY)
    assert refused.code == 2
    assert f"under 0 of {N_WORDINGS} wordings" in refused.one_line()
