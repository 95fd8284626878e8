"""Events on their way: a private file, a receiver on loopback, and receivers that fail, hang or are not there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from openlineage.client.event_v2 import RunState

from promptaudit.lineage.openlineage.events import event
from promptaudit.lineage.openlineage.names import asset_of, endpoints_of, file_of, files, jobs, namespace_of
from promptaudit.lineage.openlineage.transport import TIMEOUT_S, Sender, _Receiver
from promptaudit.warehouse import Warehouse
from tests.support.webhook_server import RunningWebhooks, running_webhooks

KEY = "sk-lineage-0123456789abcdef"
RUN = "0123456789abcdef0123456789abcdef"
ID = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Receiver, "has_failed", False)
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[RunningWebhooks]:
    with running_webhooks() as running:
        yield running


def sent(folder: Path, n: int = 3) -> tuple[list[str], list[str], float]:
    """Lines of the file, what was said, and how long it took to send `n` events and to close."""
    said: list[str] = []
    file = folder / "lineage" / f"{RUN}.jsonl"
    started = time.monotonic()
    sender = Sender(file, said.append)
    for number in range(n):
        sender.send([event(RunState.START, f"job.{number}", ID, "TEST")])
    sender.close()
    return file.read_text().splitlines(), said, time.monotonic() - started


def test_a_private_file_with_an_event_a_line_that_grows(tmp_path: Path) -> None:
    sent(tmp_path)
    lines, said, _ = sent(tmp_path)
    assert [json.loads(line)["job"]["name"] for line in lines] == ["job.0", "job.1", "job.2"] * 2
    assert said == []
    assert (tmp_path / "lineage").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "lineage" / f"{RUN}.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_receiver_gets_the_same_events_in_order_with_its_key(
    tmp_path: Path, server: RunningWebhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", server.url("/"))
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", "ok/lineage")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", KEY)
    before = dict(os.environ)
    lines, said, _ = sent(tmp_path)
    assert said == []
    received = server.of("/ok/lineage")
    assert [json.loads(request.body) for request in received] == [json.loads(line) for line in lines]
    assert {request.headers["Authorization"] for request in received} == {f"Bearer {KEY}"}
    assert KEY not in "".join(lines)
    assert dict(os.environ) == before  # the client of the library would have put the key into more variables


def test_a_receiver_of_a_file_that_is_named(
    tmp_path: Path, server: RunningWebhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "openlineage.yml"
    config.write_text(f"transport: {{type: http, url: {server.url('/')}, endpoint: ok/here}}\n")
    monkeypatch.chdir(tmp_path)
    sent(tmp_path)
    assert server.requests == []  # it lies in the folder, and nobody named it
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(config))
    sent(tmp_path)
    assert len(server.of("/ok/here")) == 3
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    sent(tmp_path)
    assert len(server.requests) == 3


@pytest.mark.parametrize("path", ["status/500", "status/401", "slow", "garbage", "close", "endless"])
def test_a_receiver_that_fails_or_hangs_is_said_once_and_waited_for_briefly(
    tmp_path: Path, server: RunningWebhooks, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", server.url("/"))
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", path)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", KEY)
    lines, said, seconds = sent(tmp_path, n=50)
    assert len(lines) == 50
    assert seconds < TIMEOUT_S + 2
    if path == "endless":  # it answers 200 and then goes on: the answer is not read
        assert said == []
        return
    (line,) = said
    assert line.startswith("lineage: the receiver did not take 50 of 50 events (")
    assert KEY not in line
    assert "127.0.0.1" not in line
    assert len(server.requests) == 1
    _, again, seconds = sent(tmp_path)
    assert (again, seconds < 1) == ([], True)  # the process has given it up


def test_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://user:hunter2@127.0.0.1:9/")
    lines, said, _ = sent(tmp_path)
    assert len(lines) == 3
    assert said == ["lineage: the receiver did not take 3 of 3 events (ConnectionError); the file has them all"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("variables", "file"),
    [
        ({"OPENLINEAGE_URL": "no address"}, None),
        ({"OPENLINEAGE_CONFIG": "missing.yml"}, None),
        ({}, "transport: {type: nobody.Knows, key: hunter2}"),
        ({}, "transport: [hunter2"),
        ({}, "nothing: here"),
    ],
)
def test_a_setting_that_makes_no_sense_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], file: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if file is not None:
        (tmp_path / "mine.yml").write_text(file)
        monkeypatch.setenv("OPENLINEAGE_CONFIG", "mine.yml")
    lines, said, _ = sent(tmp_path)
    assert len(lines) == 3
    (line,) = said
    assert line.startswith("lineage: the receiver of OPENLINEAGE_URL or OPENLINEAGE_CONFIG cannot be used: ")
    assert "hunter2" not in line
    assert sent(tmp_path)[1] == []


def test_names_hold_the_warehouses_place_in_its_namespace_and_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = Path("/srv/wáre house/my audit.duckdb")
    assert namespace_of(Warehouse(warehouse)) == "duckdb:///srv/w%C3%A1re%20house/my%20audit.duckdb"
    assert (jobs(), files()) == ("promptaudit", "file")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "production/eu")
    assert namespace_of(Warehouse(warehouse)) == "duckdb://production%2Feu/srv/w%C3%A1re%20house/my%20audit.duckdb"
    assert (jobs(), files()) == ("production/eu", "file://production%2Feu")
    assert asset_of(Warehouse(warehouse), "raw", "models") == "duckdb://my_audit.duckdb/raw/models"
    assert endpoints_of("api.openai.com, user:hunter2@host:8000") == ["model://api.openai.com", "model://host:8000"]
    assert endpoints_of("https://host/v1?api_key=hunter2") == ["model://host/v1"]
    assert file_of("/srv/somebody/questions.csv") == "questions.csv"
    assert file_of("datasets/questions.csv") == "datasets/questions.csv"
