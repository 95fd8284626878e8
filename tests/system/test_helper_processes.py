"""What our own processes are started with: none has a secret that it has no use for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from promptaudit.engines.own_code import secrets
from promptaudit.engines.vllm import command_line
from promptaudit.system.child_processes import guarded
from promptaudit.system.helper_processes import Child, ChildFailed, environment, is_hidden, without_secret_settings
from promptaudit.system.scrub import scrub
from promptaudit.system.settings import Settings, secret_variables
from promptaudit.system.watcher import MARK

SECRET = "postgresql://me:s3cr3t-of-a-setting@127.0.0.1/db"  # noqa: S105


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in secret_variables():
        monkeypatch.setenv(name, SECRET)
        monkeypatch.setenv(name.lower(), SECRET)
    monkeypatch.setenv("A_PROVIDERS_API_KEY", "sk-of-a-provider")


def test_every_secret_setting_is_known_by_its_type() -> None:
    assert {
        "PROMPTAUDIT_LAKE",
        "PROMPTAUDIT_VIEW_LOGIN",
        "PROMPTAUDIT_NOTIFY",
        "PROMPTAUDIT_HEARTBEAT_URL",
    } <= secret_variables()
    shown = Settings().model_dump_json()
    assert SECRET not in shown
    assert shown.count(str(SecretStr(SECRET))) == len(secret_variables())
    assert all(is_hidden(name) and is_hidden(name.lower()) for name in secret_variables())
    assert not is_hidden("PROMPTAUDIT_WAREHOUSE")
    assert SECRET in secrets()


def test_a_login_in_an_address_is_no_child_s_and_is_taken_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:pr0xy-pass@10.0.0.1:3128")
    monkeypatch.setenv("http_proxy", "http://10.0.0.1:3128")
    monkeypatch.setenv("all_proxy", "me:pr0xy-pass@10.0.0.1:3128")
    for given in (environment(), command_line.environment()):
        assert not {"https_proxy", "all_proxy"} & given.keys()
        assert given["http_proxy"] == "http://10.0.0.1:3128"
    assert scrub("asked http://me.example by pr0xy-pass", secrets()) == "asked http://me.example by [hidden]"


def test_no_child_has_a_secret_setting_and_those_that_ask_providers_have_their_keys() -> None:
    for given in (environment(), without_secret_settings(), command_line.environment()):
        assert SECRET not in given.values()
    assert "A_PROVIDERS_API_KEY" in without_secret_settings()
    assert "A_PROVIDERS_API_KEY" not in environment() | command_line.environment()


@pytest.mark.skipif(sys.platform != "linux", reason="another user's processes may not show what they were started with")
def test_the_watcher_has_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MARK, raising=False)
    with guarded():
        (watcher,) = (each for each in psutil.Process().children() if os.environ[MARK] in each.cmdline())
        given = watcher.environ()
    assert MARK not in given
    assert not {SECRET, "sk-of-a-provider"} & set(given.values())


def test_a_child_that_does_not_answer_in_time_is_ended() -> None:
    child = Child("timeit", "import time; time.sleep(600)")
    with pytest.raises(ChildFailed, match=r"no answer within 0\.2 s"):
        child.ask({}, 0.2)
    assert not child.is_alive


SERVED = """
from promptaudit.system.helper_processes import serve
{ready}
"""
FULL = "OSError: [Errno 28] No space left on device: 'x'"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full, as Linux has one")
@pytest.mark.parametrize(
    "ready",
    [
        "def answer(request): raise OSError(28, 'No space left on device', 'x')\nserve(lambda: answer)",
        "def ready(): raise OSError(28, 'No space left on device', 'x')\nserve(ready)",
    ],
)
def test_an_error_of_a_child_is_its_answer_even_if_it_can_print_nothing(ready: str) -> None:
    line = [sys.executable, "-P", "-c", SERVED.format(ready=ready)]
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=full, text=True) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        for _ in range(2):
            child.stdin.write("{}\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline()) == {"error": FULL}
