"""Settings act at every entry point: a budget of the environment stops a command, a flow and a night alike."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from prefect.settings import PREFECT_SERVER_ALLOW_EPHEMERAL_MODE, temporary_settings

from promptaudit.nightly import flow
from promptaudit.registry.errors import UsageError, WarehouseLocked
from promptaudit.system import prefect_server
from promptaudit.system.clock import now
from promptaudit.system.settings import Settings, settings_of
from promptaudit.warehouse import Warehouse
from tests.support.shell import promptaudit

CARD = """
small:
  tasks: [question_type]
  models: [lexical]
  strategies: [simple]
  rephrasing: {rephraser: rules, variants: 2}
  samples: {limit: 4, seed: 42}
"""
REACHED = "requests made, the budget is 3"


@pytest.fixture
def audits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "registry/audits").mkdir(parents=True)
    (tmp_path / "registry/audits/small.yml").write_text(CARD)
    monkeypatch.setenv("PROMPTAUDIT_MAX_REQUESTS", "3")
    monkeypatch.setenv("AUDIT_FOLDER", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def without_a_server() -> Iterator[None]:
    with temporary_settings({PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False}):
        yield


def test_a_budget_of_the_environment_stops_a_command(audits: Path) -> None:
    for command in ("run", "nightly"):
        ended = promptaudit(audits, command, "small")
        assert ended.code == 4
        assert REACHED in ended.err
    assert "the budget is 4" in promptaudit(audits, "run", "small", "--max-requests", "4").err


@pytest.mark.usefixtures("audits")
def test_a_budget_of_the_environment_stops_the_flows_of_an_audit_and_of_a_night(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prefect_server, "events_sent", nullcontext)  # to a server
    monkeypatch.setattr(flow, "hold_limits", lambda *_, **__: nullcontext())  # places of a server
    monkeypatch.setattr(flow, "get_run_logger", logging.getLogger)
    night_of, waits = flow.night, []

    def seen(settings: Settings, *given: Any, **named: Any) -> Any:
        waits.append(settings.lock_wait_s)
        return night_of(settings, *given, **named)

    monkeypatch.setattr(flow, "night", seen)
    with temporary_settings({PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False}):
        stopped, later, night = flow.audit.fn("small"), flow.audit.fn("small", max_requests=4), flow.nightly.fn("small")
        monkeypatch.setenv("PROMPTAUDIT_LOCK_WAIT_S", "5")
        flow.nightly.fn("small")
    assert waits == [24 * 3600, 5]  # of the warehouse: as long as the night may last, or what is said
    assert stopped.is_failed()
    assert night.name == "Budget reached"
    assert "the budget is 4" in later.message
    assert all(REACHED in state.message for state in (stopped, night))


@pytest.mark.usefixtures("without_a_server")
def test_a_scheduled_night_that_waits_too_long_is_missed_and_nobody_else_is_told(
    audits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefect_server, "events_sent", nullcontext)  # to a server
    monkeypatch.setattr(flow, "forget_limits", lambda _: None)
    monkeypatch.setattr(flow, "show_artifacts", lambda *_: None)
    monkeypatch.setattr(flow, "get_run_logger", logging.getLogger)
    monkeypatch.setattr("promptaudit.nightly.night._send_unmeasured", pytest.fail)
    monkeypatch.setattr("promptaudit.nightly.night.heartbeat", pytest.fail)
    monkeypatch.setenv("PROMPTAUDIT_LOCK_WAIT_S", "0")
    card = audits / "registry/audits/small.yml"
    card.write_text(f"{card.read_text()}  schedule: '0 2 * * *'\n")
    monkeypatch.setattr(flow, "_scheduled_at", now)
    with Warehouse(audits / "warehouse/audit.duckdb").hold(0, None, what="night", by="another night"):
        waited = flow.nightly.fn("small")
        monkeypatch.setattr(flow, "_scheduled_at", lambda: None)
        by_a_person = flow.nightly.fn("small")
    monkeypatch.setattr(flow, "_scheduled_at", lambda: now() - timedelta(days=2))
    late = flow.nightly.fn("small")
    monkeypatch.setattr(flow, "refuse_missed", lambda *_: None)  # the next one became due while it waited
    later = flow.nightly.fn("small")
    monkeypatch.setattr(flow, "_scheduled_at", now)
    monkeypatch.setattr(flow, "hold_limits", lambda *_, **__: nullcontext())
    told: list[Any] = []
    monkeypatch.setattr("promptaudit.nightly.night._send_unmeasured", lambda *given: told.append(given[3]))
    monkeypatch.setattr("promptaudit.nightly.night.heartbeat", lambda *given, **_: told.append(given[1]))
    monkeypatch.setattr("promptaudit.nightly.night.run_audit", mock.Mock(side_effect=WarehouseLocked("by a notebook")))
    locked = flow.nightly.fn("small")  # once it was at work
    assert told == [mock.ANY, WarehouseLocked.exit_code]
    states = (waited, by_a_person, late, later, locked)
    assert [state.name for state in states] == ["Missed", "Failed", "Missed", "Missed", "Failed"]
    assert re.search("held by another night, process .*; waited 0 s", waited.message)
    assert late.message == later.message
    assert "a later one is due already" in later.message


def test_what_is_given_goes_before_the_environment_and_nothing_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_MAX_USD", "0.5")
    assert settings_of().max_usd == 0.5
    assert settings_of(max_usd=2.0).max_usd == 2
    monkeypatch.setenv("PROMPTAUDIT_MAX_USD", "")
    assert Settings().max_usd is None


SHOW_TEXTS = {
    "diagnose latest": "query.diagnosis.diagnose.diagnose",
    "trace x": "evidence.trace.command.trace_figures",
    "cite latest": "exchange.citation.cite.cite",
    "export latest": "query.export_run.export_run",
}


@pytest.mark.parametrize("command", SHOW_TEXTS)
def test_a_place_may_withhold_texts(audits: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    given: list[object] = []

    def seen(*arguments: object, **named: object) -> None:
        given.extend([*arguments, *named.values()])
        raise UsageError

    monkeypatch.setattr(f"promptaudit.{SHOW_TEXTS[command]}", seen)
    promptaudit(audits, *command.split(), PROMPTAUDIT_TEXT="none")
    assert "none" in given
    promptaudit(audits, *command.split(), "--text", "full", PROMPTAUDIT_TEXT="none")
    assert "full" in given
