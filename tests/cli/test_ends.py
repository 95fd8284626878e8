"""What a command leaves in the terminal: its own lines, and where it was interrupted no promise that does not hold."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from promptaudit.cli import INTERRUPTED, main

LIBRARIES = """
import logging, warnings
from promptaudit.cli import main
try:
    main(["--version"])
except SystemExit:
    logging.getLogger("EventsWorker").warning("Still processing items")
    warnings.warn("deprecated", stacklevel=1)
"""


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = {how: signal.getsignal(how) for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # a program that a shell put in the background has them ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for how, handler in before.items():
        signal.signal(how, handler)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", [("view", "--no-browser"), ("rebuild",)])
def test_only_what_goes_on_is_said_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], how: signal.Signals
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(how)

    monkeypatch.setattr("promptaudit.report.view.view", interrupted)
    monkeypatch.setattr("promptaudit.audit.rebuild.rebuild_runs", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(list(command))
    assert ended.value.code == INTERRUPTED
    kept = "; what had landed is kept, run again to continue" if command[0] == "rebuild" else ""
    assert capsys.readouterr().err == f"interrupted{kept}\n"


def test_what_nohup_protects_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptaudit.report.view.view", lambda *_, **__: signal.raise_signal(signal.SIGHUP))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with pytest.raises(SystemExit) as ended:
        main(["view", "--no-browser"])
    assert ended.value.code == 0


def test_libraries_write_nothing_to_the_terminal() -> None:
    ended = subprocess.run([sys.executable, "-c", LIBRARIES], check=True, capture_output=True, text=True)
    assert ended.stderr == ""
