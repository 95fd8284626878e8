"""Messages reach a real server once each, whatever other targets do; what is secret in an address is written nowhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from promptaudit.gate.alerts import notify as notifying
from promptaudit.gate.alerts.alarms import Problem, changes, settle
from promptaudit.gate.alerts.deliver import send_all
from promptaudit.gate.alerts.links import page_link
from promptaudit.gate.alerts.message import Message, Night, compose
from promptaudit.gate.alerts.notify import heartbeat, notify, targets_of
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from tests.support.loopback import unused_port
from tests.support.webhook_server import RunningWebhooks, running_webhooks

pytestmark = pytest.mark.slow

TOKEN = "tok-5e7c0a91d2f3b4"  # noqa: S105 - of no service
RUN = "a" * 32
FIRST = datetime(2026, 11, 1, 2, 0)
MESSAGE = Message(
    kind="regression", title="nightly: gpt regressed", body="Audit nightly\n\n- micro_f1: 0.9 → 0.8 \\x3c!channel>"
)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningWebhooks]:
    with running_webhooks() as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_asked_yet(server: RunningWebhooks) -> None:
    server.requests.clear()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    return path


def settings_for(*targets: str, **more: str) -> Settings:
    return Settings(notify=" ".join(targets), **more)


def kept(warehouse: Path) -> list[tuple[str, int, str | None]]:
    rows = Warehouse(warehouse).read("select state, n_targets, error from raw.notifications order by recorded_at")
    return [(row["state"], row["n_targets"], row["error"]) for row in rows]


def send(warehouse: Path, *targets: str) -> str:
    return notify(Warehouse(warehouse), RUN, "regression", MESSAGE, settings_for(*targets), Progress())


# ------------------------------------------------------------ messages
def test_a_message_arrives_as_it_is_and_once(warehouse: Path, server: RunningWebhooks) -> None:
    assert send(warehouse, server.target("/ok/a", TOKEN)) == "sent"
    assert send(warehouse, server.target("/ok/a", TOKEN)) == "told"  # the night resumed
    (request,) = server.requests
    assert request.method == "POST"
    assert request.json() == {
        "version": "1.0",
        "title": MESSAGE.title,
        "message": MESSAGE.body,
        "attachments": [],
        "type": "failure",
    }
    assert kept(warehouse) == [("intended", 1, None), ("sent", 1, None)]


def test_the_seal_is_told_and_a_later_one_is_no_news(warehouse: Path, server: RunningWebhooks) -> None:
    settings = settings_for(server.target("/ok/a"))
    for seal, expected in (("1" * 64, "sent"), ("2" * 64, "told")):
        sealed = replace(MESSAGE, seal=seal)
        assert notify(Warehouse(warehouse), RUN, "regression", sealed, settings, Progress()) == expected
    (request,) = server.requests
    assert request.json()["message"] == f"{MESSAGE.body}\nSeal: {'1' * 64}"


def test_another_kind_of_the_same_night_is_another_message(warehouse: Path, server: RunningWebhooks) -> None:
    settings = settings_for(server.target("/ok/a"))
    for kind in ("recovered", "unmeasured"):
        assert notify(Warehouse(warehouse), RUN, kind, MESSAGE, settings, Progress()) == "sent"
    assert [request.json()["type"] for request in server.requests] == ["success", "warning"]


def test_what_was_only_intended_is_sent_again(warehouse: Path, server: RunningWebhooks) -> None:
    send(warehouse, server.target("/ok/a"))
    with Warehouse(warehouse).write() as con:  # killed between the two
        con.execute("delete from raw.notifications where state = 'sent'")
    assert send(warehouse, server.target("/ok/a")) == "sent"
    assert len(server.requests) == 2


def test_nobody_to_tell(warehouse: Path) -> None:
    assert notify(Warehouse(warehouse), RUN, "regression", MESSAGE, Settings(), Progress()) == "nobody"
    assert kept(warehouse) == []


def test_bad_targets_cost_a_warning_and_no_other_target(
    warehouse: Path, server: RunningWebhooks, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = {
        "/status/500": "answered 500",
        "/status/401": "answered 401",
        "/redirect": "answered 307",
        "/garbage": "could not be reached",
        "/close": "could not be reached",
    }
    assert send(warehouse, *(server.target(f"{path}/{TOKEN}", TOKEN) for path in bad), server.target("/ok/a")) == "sent"
    assert sorted(request.path for request in server.requests) == sorted(
        ["/ok/a", *(f"{path}/{TOKEN}" for path in bad)]
    )
    whys = "; ".join(f"target {place} (JSON) {why}" for place, why in enumerate(bad.values(), start=1))
    error = f"5 of 6 targets did not get it: {whys}"
    assert capsys.readouterr().err == f"warning: regression: {error}\n"
    assert kept(warehouse)[-1] == ("sent", 6, error)


def test_garbage_is_no_target(warehouse: Path, server: RunningWebhooks, capsys: pytest.CaptureFixture[str]) -> None:
    garbage = [
        "nonsense",
        "://",
        "json://",
        "nosuchservice://x/y",
        "json://127.0.0.1:99999999/x",
        "slack://a",
        "\x1b[31m",
        "mailto://",
    ]
    assert send(warehouse, server.target("/ok/a"), *garbage) == "sent"
    assert [request.path for request in server.requests] == ["/ok/a"]
    said = capsys.readouterr().err
    assert said.startswith(
        "warning: regression: 8 of 9 targets did not get it: target 2 its address cannot be read; target 3 "
    )
    assert not any(word in said for word in ("\x1b", "nonsense", "nosuch", "127.0.0.1", "target 1 "))


def test_all_targets_down_is_failed_and_tried_again_by_the_next_start(
    warehouse: Path, server: RunningWebhooks, capsys: pytest.CaptureFixture[str]
) -> None:
    assert send(warehouse, f"json://127.0.0.1:{unused_port()}/{TOKEN}") == "failed"
    assert "target 1 (JSON) could not be reached" in capsys.readouterr().err
    assert send(warehouse, server.target("/ok/a")) == "sent"
    assert [state for state, _, _ in kept(warehouse)] == ["intended", "failed", "intended", "sent"]


@pytest.mark.parametrize("path", [pytest.param("/slow", marks=pytest.mark.slow), "/endless"])
def test_a_target_without_end_is_given_up_and_its_process_ended(
    warehouse: Path, server: RunningWebhooks, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(notifying, "SECONDS", 8.0)
    began = time.monotonic()
    assert send(warehouse, server.target(path), server.target("/ok/a")) == "sent"
    assert time.monotonic() - began < 8 + 4
    assert len(server.of("/ok/a")) == 1
    error = kept(warehouse)[-1][2]
    assert error is not None
    # an answer without end runs out of the memory it may have, or of time
    assert re.search(r"1 of 2 .*: target 1(: no answer within 8 s| \(JSON\) did not take it)$", error)
    living = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    assert not [child for child in living if "promptaudit.gate.alerts.deliver" in " ".join(child.cmdline())]


def test_a_defect_of_landing_keeps_no_message_back(
    warehouse: Path, server: RunningWebhooks, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for method in ("land", "read"):
        monkeypatch.setattr(Warehouse, method, lambda *_, **__: {}["a defect"])
    assert send(warehouse, server.target("/ok/a")) == "sent"
    assert "the message's state did not land: KeyError, a defect" in capsys.readouterr().err


def test_what_no_warehouse_can_keep_is_told_all_the_same(tmp_path: Path, server: RunningWebhooks) -> None:
    (tmp_path / "audit.duckdb").write_text("no warehouse")
    assert send(tmp_path / "audit.duckdb", server.target("/ok/a")) == "sent"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("json://a/x json://b/y", ["json://a/x", "json://b/y"]),
        ("json://a/x,json://b/y", ["json://a/x", "json://b/y"]),
        ("json://a/x , json://b/y,\n\tjson://c/z,", ["json://a/x", "json://b/y", "json://c/z"]),
        ("mailto://u:p@h.org?to=a@b.org,c@d.org", ["mailto://u:p@h.org?to=a@b.org,c@d.org"]),
        ("json://a/x json://a/x", ["json://a/x"]),
        ("", []),
        (" , ", []),
    ],
)
def test_targets_of_the_settings(text: str, targets: list[str]) -> None:
    assert targets_of(Settings(notify=text)) == targets


def test_seven_nights_tell_of_two_drops_once_each(warehouse: Path, server: RunningWebhooks) -> None:
    def found(cause: str, base: int, *measures: str) -> list[Problem]:
        return [
            Problem(
                kind="regressed",
                summary="0.900 → 0.800",
                reason="m-1 → m-2",
                cause=cause,
                model_id="gpt",
                task_id="t",
                strategy="simple",
                measure=measure,
                base_run_id=str(base) * 32,
            )
            for measure in measures
        ]

    swap = found("provider_changed_the_model", 3, "micro_f1", "sensitivity")
    edit = found("we_changed_the_prompt", 5, "micro_f1")
    nights = {4: swap, 6: edit}
    settings = settings_for(server.target("/ok/a"), server.target("/ok/b", TOKEN))
    with Warehouse(warehouse).write() as con:
        for night in range(1, 8):
            con.execute(
                "insert into raw.audit_runs select ?, 'nightly', 'run', 'complete', ?, null, '', '', '', '', 0, 0, '', "
                "null, null, '', null, null, null, ?",
                [str(night) * 32, FIRST + timedelta(days=night - 1), night],
            )
    for night in range(1, 8):
        run = str(night) * 32
        still = {finding.key.place: "regressed" for at, those in nights.items() if at <= night for finding in those}
        for _ in range(2 if night in nights else 1):  # the nights of news are resumed
            found_tonight = settle(Warehouse(warehouse), "nightly", run, nights.get(night, []), still)
            message = compose(
                Night(audit_id="nightly", audit_run_id=run, started_at=FIRST + timedelta(days=night - 1), exit_code=1),
                found_tonight,
            )
            assert (message is not None) is (night in nights)
            if message is not None:
                assert notify(Warehouse(warehouse), run, message.kind, message, settings, Progress()) in (
                    "sent",
                    "told",
                )
    for path in ("/ok/a", "/ok/b"):
        assert [request.json()["title"] for request in server.of(path)] == [
            "nightly: gpt regressed: the provider changed the model",
            "nightly: gpt regressed: we changed the prompt",
        ]
    assert "Still standing:\n- regressed since 2026-11-04: gpt" in server.of("/ok/a")[1].json()["message"]
    assert len(server.requests) == 2 * 2


def test_no_name_becomes_a_mention_or_a_link_at_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def keep(*_: object, data: str | None = None, json: object = None, **__: object) -> requests.Response:
        sent.append(data or str(json))
        taken = requests.Response()
        taken.status_code, taken._content = 200, b"ok"
        return taken

    monkeypatch.setattr(requests, "request", keep)
    monkeypatch.setattr(requests, "post", keep)
    names = [
        "<!channel>",
        "!here>",
        "!everyone|x>",
        "@here",
        "<@U123>",
        "@123>",
        "@everyone",
        "https://evil.example>",
        "<https://evil.example|all well>",
        "[all well](https://evil.example)",
        "www.evil.example",
    ]
    findings = [Problem(kind="gate", measure=name, summary=name, reason=name, model_id=name) for name in names]
    message = compose(
        Night(audit_id="@here", audit_run_id=RUN, started_at=FIRST, exit_code=0), changes([], findings, {})
    )
    assert message is not None
    heard: list[Mapping[str, Any]] = []
    targets = [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js?format=markdown",
    ]
    send_all(targets, message.title, message.body, "failure", heard.append)
    assert [found["error"] for found in heard] == [None, None, None]
    assert len(sent) >= 3
    for payload in sent:
        assert "everyone" in payload  # what they are called is there to read
        assert not re.search(r"<[!@#h]|@|://evil|www\.|\]\(|allow_mentions", payload), payload


# ------------------------------------------------------------ secrets
def test_a_secret_is_in_no_row_file_log_line_or_process(
    warehouse: Path, server: RunningWebhooks, tmp_path: Path
) -> None:
    targets = [
        server.target(f"/ok/{TOKEN}", TOKEN),
        server.target(f"/status/500/{TOKEN}", TOKEN),
        f"json://user:{TOKEN}@127.0.0.1:{unused_port()}/{TOKEN}?-k={TOKEN}&+X-Key={TOKEN}",
        f"{TOKEN}",
        f"nosuch://{TOKEN}",
        f"slack://{TOKEN}",
        f"json://{TOKEN}:99999999/x",
    ]
    program = (
        "import logging, sys\n"
        "logging.basicConfig(level=1)\n"  # everything any library here says
        "from pathlib import Path\n"
        "from promptaudit.gate.alerts.message import Message\n"
        "from promptaudit.gate.alerts.notify import heartbeat, notify\n"
        "from promptaudit.system.display.progress import Progress\n"
        "from promptaudit.system.settings import Settings\n"
        "from promptaudit.warehouse import Warehouse\n"
        "settings = Settings()\n"
        "print(settings, repr(settings.notify), settings.model_dump_json())\n"
        "message = Message(kind='regression', title='title', body='body')\n"
        f"print(notify(Warehouse(Path(sys.argv[1])), {RUN!r}, 'regression', message, settings, Progress()))\n"
        "print(heartbeat(settings, 0, Progress()))\n"
    )
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PROMPTAUDIT_NOTIFY": " ".join(targets),
        "PROMPTAUDIT_HEARTBEAT_URL": server.url(f"/status/404/{TOKEN}?token={TOKEN}"),
    }
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(warehouse)],
        env=environment,
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    lines: set[str] = set()
    while child.poll() is None:
        for process in psutil.Process(child.pid).children(recursive=True):
            try:
                line = " ".join(process.cmdline())
                # until it is the program it becomes, a child is its parent, environment and all
                lines |= {line, json.dumps(process.environ()) if "promptaudit.gate.alerts.deliver" in line else ""}
            except psutil.Error:
                continue
        time.sleep(0.05)
    said, _ = child.communicate()
    assert child.returncode == 0, said
    assert "sent\n" in said
    assert "6 of 7 targets did not get it" in said
    assert "PROMPTAUDIT_HEARTBEAT_URL: answered 404" in said
    assert any("promptaudit.gate.alerts.deliver" in line for line in lines)
    assert len(server.of(f"/ok/{TOKEN}")) == 1  # the secret is in use
    written = "\n".join([said, *lines])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert warehouse in files
    with Warehouse(warehouse).write() as con:
        con.execute("force checkpoint")
    for secret in (TOKEN, TOKEN[:8], TOKEN[4:]):
        assert secret not in written
        for path in files:
            assert secret.encode() not in path.read_bytes(), path


def test_settings_that_are_wrong_do_not_print_their_secrets() -> None:
    with pytest.raises(ValueError, match="lock_wait_s") as caught:
        Settings(notify=f"json://{TOKEN}", heartbeat_url=f"https://h/{TOKEN}", lock_wait_s=-1)
    assert TOKEN not in str(caught.value)


# ------------------------------------------------------------ the heartbeat
@pytest.mark.parametrize("exit_code", [0, 3])
def test_the_heartbeat_is_a_plain_get_whatever_the_night_found(server: RunningWebhooks, exit_code: int) -> None:
    assert heartbeat(Settings(heartbeat_url=server.url(f"/ok/{TOKEN}")), exit_code, Progress())
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("GET", f"/ok/{TOKEN}", b"")


def test_the_heartbeat_says_the_exit_code_where_the_address_asks_for_it(server: RunningWebhooks) -> None:
    assert heartbeat(Settings(heartbeat_url=server.url("/ok/{exit_code}?again={exit_code}&{0}")), 3, Progress())
    assert [request.path.partition("&")[0] for request in server.requests] == ["/ok/3?again=3"]


@pytest.mark.parametrize(
    ("path", "why", "n_tries"),
    [
        ("/status/404", "answered 404", 1),
        pytest.param("/status/503", "answered 503", 3, marks=pytest.mark.slow),
        ("/redirect", "answered 307", 1),
        pytest.param("/close", "could not be reached", 3, marks=pytest.mark.slow),
    ],
)
def test_a_failing_heartbeat_is_one_warning(
    server: RunningWebhooks, capsys: pytest.CaptureFixture[str], path: str, why: str, n_tries: int
) -> None:
    assert not heartbeat(Settings(heartbeat_url=server.url(f"{path}/{TOKEN}")), 0, Progress())
    assert capsys.readouterr().err == f"warning: PROMPTAUDIT_HEARTBEAT_URL: {why}\n"
    assert len(server.requests) == n_tries


@pytest.mark.parametrize(
    "url", ["nonsense", "file:///etc/hostname", "ftp://127.0.0.1/x", "http://127.0.0.1:port/", "http://a b/"]
)
def test_an_address_that_is_none_is_one_warning(capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert not heartbeat(Settings(heartbeat_url=url), 0, Progress())
    assert capsys.readouterr().err == "warning: PROMPTAUDIT_HEARTBEAT_URL: is no http or https address\n"


def test_a_slow_heartbeat_holds_nobody_up(
    server: RunningWebhooks, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notifying, "SECONDS", 1.0)
    began = time.monotonic()
    assert not heartbeat(Settings(heartbeat_url=server.url("/slow")), 0, Progress())
    assert time.monotonic() - began < 1 + 3
    assert capsys.readouterr().err == "warning: PROMPTAUDIT_HEARTBEAT_URL: no answer within 1 s\n"


def test_without_an_address_nothing_is_called(server: RunningWebhooks) -> None:
    assert not heartbeat(Settings(), 0, Progress())
    assert not heartbeat(Settings(heartbeat_url=" "), 0, Progress())
    assert not server.requests


# ------------------------------------------------------------ where to look
def test_the_link_of_a_report(tmp_path: Path) -> None:
    warehouse = tmp_path / "w" / "audit.duckdb"
    page = tmp_path / "w" / "published" / "reports" / f"{RUN}.html"
    assert page_link(Warehouse(warehouse), page, Settings()) == page.as_uri()
    served = Settings(report_url="https://audits.example.org/nightly/")
    assert page_link(Warehouse(warehouse), page, served) == f"https://audits.example.org/nightly/reports/{RUN}.html"
