"""Seven nights of one audit: a real provider on loopback that changes, a prompt that is edited, real webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.flows.audits import AUDIT, write_cards
from tests.servers.provider_server import Provider, running_provider
from tests.servers.webhook_server import RunningWebhooks, running_webhooks
from tests.shell import Ended, promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

KEY = "sk-test-0123456789abcdef0123456789abcdef"
TOKEN = "tok-5up3rs3cr3t"  # noqa: S105 - looked for afterwards
GATE = 'gate: ["no regressed on micro_f1", "no changed", "micro_f1 >= 0.2"]'


@dataclass
class Night:
    """What one night left."""

    ended: Ended
    n_messages: int
    n_heartbeats: int

    @property
    def told(self) -> Any:
        return self.ended.json()


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Night], RunningWebhooks]]:
    """The provider swaps its model before night 4; the instruction is edited before night 6."""
    folder = tmp_path_factory.mktemp("week")
    nights: list[Night] = []
    with running_provider() as provider, running_webhooks() as webhooks:
        cards(folder, provider)
        for number in range(1, 8):
            if number == 4:
                provider.served_model, provider.skill = "small-2026-06-30", 0.7
            if number == 6:
                task = folder / "registry/tasks/questions.yml"
                task.write_text(task.read_text().replace("Classify the question", "In haste, classify the question"))
            ended = promptaudit(
                folder, "nightly", AUDIT, "--new", "--json", AUDIT_KEY=KEY,
                PROMPTAUDIT_NOTIFY=webhooks.target("/ok/told", TOKEN), PROMPTAUDIT_HEARTBEAT_URL=webhooks.url("/ok/alive"),
            )  # fmt: skip
            nights.append(Night(ended, len(webhooks.of("/ok/told")), len(webhooks.of("/ok/alive"))))
        yield folder, nights, webhooks


def cards(folder: Path, provider: Provider) -> None:
    write_cards(
        folder / "registry", provider.base_url, n_samples=60, variants=12, repetitions=2,
        sampling="{temperature: 1, max_tokens: 16}", audit=f"  {GATE}\n",
    )  # fmt: skip


def test_each_change_fails_the_gate_of_its_night_alone(week: tuple[Path, list[Night], RunningWebhooks]) -> None:
    _, nights, _ = week
    assert [night.ended.code for night in nights] == [0, 0, 0, 1, 0, 1, 0], [night.ended.err for night in nights]


def test_one_alarm_a_change_with_its_reason_and_no_other(week: tuple[Path, list[Night], RunningWebhooks]) -> None:
    _, nights, webhooks = week
    assert [night.n_messages for night in nights] == [0, 0, 0, 1, 1, 2, 2]
    assert [night.n_heartbeats for night in nights] == [1, 2, 3, 4, 5, 6, 7]
    first, second = (request.json() for request in webhooks.of("/ok/told"))
    assert "the provider changed the model" in first["title"]
    assert "we changed the prompt" in second["title"]
    assert "micro_f1" in first["message"]
    assert len(first["message"].splitlines()) <= 30


def test_the_comparison_says_what_and_why(week: tuple[Path, list[Night], RunningWebhooks]) -> None:
    folder, nights, _ = week
    query = (
        "select compared.candidate_run_id, compared.verdict, compared.cause, compared.reason, compared.difference "
        "from marts.rpt_run_comparisons as compared inner join marts.dim_audit_runs as runs "
        "on compared.candidate_run_id = runs.audit_run_id where compared.measure = 'micro_f1' "
        "and compared.base_run_id = (select max_by(audit_run_id, started_at) from marts.dim_audit_runs as earlier "
        "where earlier.started_at < runs.started_at) order by runs.started_at"
    )
    found = {row["candidate_run_id"]: row for row in sql(folder, query)}
    runs = [night.told["audit_run_id"] for night in nights]
    assert [found[run]["verdict"] for run in runs[1:]] == [
        "within_noise", "within_noise", "regressed", "within_noise", "regressed", "within_noise",
    ]  # fmt: skip
    assert found[runs[3]]["cause"] == "provider_changed_the_model"
    assert "served_model small-2026-01-01 -> small-2026-06-30" in found[runs[3]]["reason"]
    assert found[runs[3]]["difference"] == pytest.approx(-0.25, abs=0.08)
    assert found[runs[5]]["cause"] == "we_changed_the_prompt"
    assert [found[runs[n]]["cause"] for n in (1, 2, 4, 6)] == ["nothing_changed"] * 4


def test_the_token_is_nowhere(week: tuple[Path, list[Night], RunningWebhooks]) -> None:
    folder, nights, webhooks = week
    assert webhooks.requests
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in written if TOKEN.encode() in path.read_bytes() or KEY.encode() in path.read_bytes()] == []
    assert not any(TOKEN in night.ended.out + night.ended.err for night in nights)


def test_every_cell_of_every_night_landed_once(week: tuple[Path, list[Night], RunningWebhooks]) -> None:
    folder, nights, _ = week
    query = (
        "select count(*) as n, count(distinct (model_id, prompt_variant_id, sample_id, repetition)) as n_cells "
        "from raw.predictions group by audit_run_id"
    )
    assert sql(folder, query) == [{"n": 60 * 12 * 2, "n_cells": 60 * 12 * 2}] * len(nights)


def test_history_shows_the_week(week: tuple[Path, list[Night], RunningWebhooks]) -> None:
    folder, _, _ = week
    ended = promptaudit(folder, "history", "micro_f1", "--model", "api", "--task", "questions")
    assert ended.code == 0, ended.err
    assert "regressed" in ended.out
