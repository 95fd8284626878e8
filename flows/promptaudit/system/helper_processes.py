"""Keeps child processes that have a heavy library ready: started early in a command, asked later, gone with it.

A child is `python -P -m MODULE` in a private folder of its own, so that nothing of the folder a user stands in is read.
Each line on its stdin is one request, answered by one line on its stdout; both are JSON. It ends at once when stdin
closes, in the middle of a request too, since the process that asked is gone then.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from promptaudit.registry.errors import PromptauditError
from promptaudit.system.files import PRIVATE_UMASK
from promptaudit.system.garbage import collect_rarely
from promptaudit.system.settings import SILENT, secret_variables

_HIDDEN = (
    "_KEY",
    "_TOKEN",
    "APIKEY",
    "SECRET",
    "PASSWORD",
    "_PASS",
    "CREDENTIAL",
    "AUTH_STRING",
    "CONNECTION_URL",
    "DATABASE_URL",
    "HEADERS",
    "OPENLINEAGE",
)
_LOGIN = re.compile(r"://[^\s/?#]*@|\A[^\s/?#:]*:[^\s/?#]*@")
_HIDDEN_PARTS = frozenset({"KEY", "TOKEN", "PAT", "AUTH", "COOKIE", "BEARER"})
FOLDER = "PROMPTAUDIT_CHILD_FOLDER"
"""The variable that names the private folder of a child, which the child removes when its parent is gone."""
DBT, CHECKS = "promptaudit.marts.dbt_child", "promptaudit.audit.formats.expectations"
"""The modules of the children: the first builds marts, the second checks formats."""
# a measure's matrices are small: a second thread of the linear algebra would spin more than it computes
QUIET_ALGEBRA = {"OPENBLAS_NUM_THREADS": "1"}
MOST_WORDS = 400
_children: dict[tuple[str, ...], Child] = {}


class ChildFailed(Exception):
    """A child that answered with an error, or ended without an answer; the words are the last it said."""


class Child:
    """Runs `serve` of a module in a process."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="promptaudit-"))
        try:
            self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - as long as it lives
            self.process = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
                [sys.executable, "-P", "-m", module, *arguments],
                cwd=self._folder,
                env=environment() | QUIET_ALGEBRA | {FOLDER: str(self._folder)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                text=True,
                start_new_session=True,
                umask=PRIVATE_UMASK,
            )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    @property
    def is_alive(self) -> bool:
        """Checks whether the child can be asked."""
        return self.process.poll() is None

    def ask(self, request: dict[str, Any], limit_s: float | None = None) -> Any:  # noqa: ANN401 - whatever the module answers
        """Asks the child and waits for the answer; raises ChildFailed if none comes, or none within `limit_s` seconds.

        Whatever interrupts this ends the child.
        """
        assert self.process.stdin is not None and self.process.stdout is not None  # noqa: S101, PT018 - pipes were asked for
        try:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
            with selectors.DefaultSelector() as answers:
                answers.register(self.process.stdout, selectors.EVENT_READ)
                is_late = not answers.select(limit_s)
            answer = "" if is_late else self.process.stdout.readline()
        except BaseException:
            self.end()
            raise
        if answer.endswith("\n"):  # one that was killed may have written half of it
            answered = json.loads(answer)
            if "error" not in answered:
                return answered["answer"]
            raise ChildFailed(answered["error"])
        words = f"no answer within {limit_s:g} s" if is_late else self._last_words()
        self.end()
        raise ChildFailed(words)

    def _last_words(self) -> str:
        code = self.process.wait()
        self._stderr.seek(0)
        lines = [part.strip() for part in self._stderr.read()[-4000:].splitlines() if part.strip()]
        return " ".join(lines[-4:])[:MOST_WORDS] or f"exit code {code}"

    def end(self) -> None:
        """Ends the child and whatever it started, and removes its folder."""
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._stderr):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def start(module: str, *arguments: str) -> Child:
    """Finds this command's child of a module, or starts one without waiting until it is ready."""
    key = (module, *arguments)
    child = _children.get(key)
    if child is not None and not child.is_alive:
        child.end()
    if child is None or not child.is_alive:
        child = _children[key] = Child(module, *arguments)
    return child


@atexit.register
def end_children() -> None:
    """Ends every child of this process."""
    while _children:
        _children.popitem()[1].end()


def serve(make_ready: Callable[[], Callable[[dict[str, Any]], Any]]) -> NoReturn:
    """Serves a child's side: makes ready, then answers each request by the function that `make_ready` returned."""
    collect_rarely()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    requests: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    answer = _answered(make_ready)
    while True:
        request = json.loads(requests.get())
        answered = answer if "error" in answer else _answered(partial(answer["answer"], request))
        answers.write(json.dumps(answered) + "\n")
        answers.flush()


def _answered(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"answer": work()}
    except Exception as error:  # noqa: BLE001 - stderr is a file, which would hold nothing of it on a full disk
        with contextlib.suppress(OSError):
            traceback.print_exc()
        words = str(error) if isinstance(error, PromptauditError) else f"{type(error).__name__}: {error}"
        return {"error": " ".join(words.split())[:MOST_WORDS]}


def _read(requests: queue.Queue[str]) -> NoReturn:
    for line in sys.stdin:
        requests.put(line)
    folder = os.environ.get(FOLDER)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    if os.getpgrp() == os.getpid():  # what it has started goes with it
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def is_hidden(name: str, value: str = "") -> bool:
    """Checks whether a variable may hold a key or a password: by its name, or by a login in an address that it holds."""
    upper = name.upper()
    return (
        _LOGIN.search(value) is not None
        or upper in secret_variables()
        or any(word in upper for word in _HIDDEN)
        or not _HIDDEN_PARTS.isdisjoint(upper.split("_"))
    )


def without_secret_settings() -> dict[str, str]:
    """Copies this process's environment without secret settings; keys of providers stay, for processes of ours."""
    return {name: value for name, value in os.environ.items() if name.upper() not in secret_variables()}


def is_given(name: str, value: str = "") -> bool:
    """Checks whether a command that a card names may get a variable: none that may hold a key, and none of Python's."""
    return not (is_hidden(name, value) or name.upper().startswith("PYTHON"))


def environment() -> dict[str, str]:
    """Copies this process's environment without keys and without variables that would configure dbt."""
    kept = {
        name: value for name, value in os.environ.items() if not (name.startswith("DBT_") or is_hidden(name, value))
    }
    paths = [str(Path(part).absolute()) for part in kept.pop("PYTHONPATH", "").split(os.pathsep) if part]
    kept |= {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
    if cache := kept.get("PROMPTAUDIT_CACHE"):
        kept["PROMPTAUDIT_CACHE"] = str(Path(cache).expanduser().absolute())
    return kept | SILENT
