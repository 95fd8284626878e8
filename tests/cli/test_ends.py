"""What a command leaves in the terminal: its own lines, and where it was interrupted no promise that does not hold."""

from __future__ import annotations

import signal
import subprocess
import sys

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


@pytest.mark.parametrize("command", [("view", "--no-browser"), ("rebuild",)])
def test_only_what_goes_on_is_said_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("promptaudit.report.view.view", interrupted)
    monkeypatch.setattr("promptaudit.audit.rebuild.rebuild_runs", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main(list(command))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == INTERRUPTED
    kept = "; what had landed is kept, run again to continue" if command[0] == "rebuild" else ""
    assert capsys.readouterr().err == f"interrupted{kept}\n"


def test_libraries_write_nothing_to_the_terminal() -> None:
    ended = subprocess.run([sys.executable, "-c", LIBRARIES], check=True, capture_output=True, text=True)
    assert ended.stderr == ""
