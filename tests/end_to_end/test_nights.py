"""Nights of one audit, one after the other: a real provider on loopback that changes, a prompt that is edited, real webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_audit import AUDIT, write_cards
from tests.support.provider_server import Provider, running_provider
from tests.support.shell import Ended, promptaudit, sql
from tests.support.webhook_server import RunningWebhooks, running_webhooks

pytestmark = pytest.mark.timeout(1800)

KEY = "sk-test-0123456789abcdef0123456789abcdef"
TOKEN = "tok-5up3rs3cr3t"  # noqa: S105 - looked for afterwards
GATE = 'gate: ["no regressed on micro_f1", "no changed", "micro_f1 >= 0.2"]'


@dataclass(frozen=True)
class Plan:
    """How many nights; before `swap` the provider exchanges its model, before `edit` the instruction is edited."""

    n: int
    swap: int
    edit: int | None = None

    def codes(self) -> list[int]:
        """The gate's, night by night."""
        return [int(night in (self.swap, self.edit)) for night in range(1, self.n + 1)]


TWO, SEVEN = Plan(2, 2), Plan(7, 4, 6)


@dataclass
class Night:
    """What one night left."""

    ended: Ended
    n_messages: int
    n_heartbeats: int

    @property
    def told(self) -> Any:
        return self.ended.json()


@dataclass
class Week:
    """The nights, where they left what they did, and who was told of it."""

    plan: Plan
    folder: Path
    nights: list[Night]
    webhooks: RunningWebhooks


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(TWO, marks=pytest.mark.slow, id="two"), pytest.param(SEVEN, marks=pytest.mark.soak, id="seven"),
    ],
)  # fmt: skip
def week(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    plan: Plan = request.param
    folder = tmp_path_factory.mktemp("week")
    nights: list[Night] = []
    with running_provider() as provider, running_webhooks() as webhooks:
        cards(folder, provider)
        for number in range(1, plan.n + 1):
            if number == plan.swap:
                provider.served_model, provider.skill = "small-2026-06-30", 0.7
            if number == plan.edit:
                task = folder / "registry/tasks/questions.yml"
                task.write_text(task.read_text().replace("Classify the question", "In haste, classify the question"))
            ended = promptaudit(
                folder, "nightly", AUDIT, "--new", "--json", AUDIT_KEY=KEY,
                PROMPTAUDIT_NOTIFY=webhooks.target("/ok/told", TOKEN), PROMPTAUDIT_HEARTBEAT_URL=webhooks.url("/ok/alive"),
            )  # fmt: skip
            nights.append(Night(ended, len(webhooks.of("/ok/told")), len(webhooks.of("/ok/alive"))))
        yield Week(plan, folder, nights, webhooks)


def cards(folder: Path, provider: Provider) -> None:
    write_cards(
        folder / "registry", provider.base_url, n_samples=60, variants=8, repetitions=2,
        sampling="{temperature: 1, max_tokens: 16}", audit=f"  {GATE}\n  resamples: 200\n",
    )  # fmt: skip


def test_each_change_fails_the_gate_of_its_night_alone(week: Week) -> None:
    nights = week.nights
    assert [night.ended.code for night in nights] == week.plan.codes(), [night.ended.err for night in nights]


def test_one_alarm_a_change_with_its_reason_and_no_other(week: Week) -> None:
    nights, webhooks = week.nights, week.webhooks
    assert [night.n_messages for night in nights] == list(accumulate(week.plan.codes()))
    assert [night.n_heartbeats for night in nights] == list(range(1, week.plan.n + 1))
    first, *later = (request.json() for request in webhooks.of("/ok/told"))
    assert "the provider changed the model" in first["title"]
    assert all("we changed the prompt" in told["title"] for told in later)
    assert "micro_f1" in first["message"]
    assert len(first["message"].splitlines()) <= 30


def test_the_comparison_says_what_and_why(week: Week) -> None:
    folder, nights = week.folder, week.nights
    query = (
        "select compared.candidate_run_id, compared.verdict, compared.cause, compared.reason, compared.difference "
        "from marts.rpt_run_comparisons as compared inner join marts.dim_audit_runs as runs "
        "on compared.candidate_run_id = runs.audit_run_id where compared.measure = 'micro_f1' "
        "and compared.base_run_id = (select max_by(audit_run_id, started_at) from marts.dim_audit_runs as earlier "
        "where earlier.started_at < runs.started_at) order by runs.started_at"
    )
    found = {row["candidate_run_id"]: row for row in sql(folder, query)}
    runs = [night.told["audit_run_id"] for night in nights]
    changed = {night - 1 for night in (week.plan.swap, week.plan.edit) if night}
    assert [found[run]["verdict"] for run in runs[1:]] == [
        "regressed" if n in changed else "within_noise" for n in range(1, week.plan.n)
    ]
    swapped = found[runs[week.plan.swap - 1]]
    assert swapped["cause"] == "provider_changed_the_model"
    assert "served_model small-2026-01-01 -> small-2026-06-30" in swapped["reason"]
    assert swapped["difference"] == pytest.approx(-0.25, abs=0.08)
    if week.plan.edit:
        assert found[runs[week.plan.edit - 1]]["cause"] == "we_changed_the_prompt"
    quiet = [found[run]["cause"] for n, run in enumerate(runs) if n and n not in changed]
    assert quiet == ["nothing_changed"] * (week.plan.n - 1 - len(changed))


def test_the_token_is_nowhere(week: Week) -> None:
    folder, nights, webhooks = week.folder, week.nights, week.webhooks
    assert webhooks.requests
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in written if TOKEN.encode() in path.read_bytes() or KEY.encode() in path.read_bytes()] == []
    assert not any(TOKEN in night.ended.out + night.ended.err for night in nights)


def test_every_cell_of_every_night_landed_once(week: Week) -> None:
    folder, nights = week.folder, week.nights
    query = (
        "select count(*) as n, count(distinct (model_id, prompt_variant_id, sample_id, repetition)) as n_cells "
        "from raw.predictions group by audit_run_id"
    )
    assert sql(folder, query) == [{"n": 60 * 8 * 2, "n_cells": 60 * 8 * 2}] * len(nights)


def test_history_shows_the_week(week: Week) -> None:
    folder = week.folder
    ended = promptaudit(folder, "history", "micro_f1", "--model", "api", "--task", "questions")
    assert ended.code == 0, ended.err
    assert "regressed" in ended.out
