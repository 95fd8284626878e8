"""Sends events: always to a file beside the warehouse, and to a receiver where one is set. No audit waits for either.

The receiver is set by OPENLINEAGE_URL, with OPENLINEAGE_API_KEY and OPENLINEAGE_ENDPOINT, or by the `transport` of the
file that OPENLINEAGE_CONFIG names. OPENLINEAGE_DISABLED=true turns it off. A file that merely lies in the folder is not
read: it could name any host and any class to load.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml
from openlineage.client.event_v2 import RunEvent
from openlineage.client.transport import Transport, get_default_factory
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.transport.http import HttpTransport

from promptaudit.system.files import private_folder

TIMEOUT_S = 2.5
"""How long one request to a receiver may take, and how long the end of a run waits for it in all."""

# its warnings show addresses; our own are printed once
logging.getLogger("openlineage").addHandler(logging.NullHandler())
logging.getLogger("openlineage").propagate = False


class Sender:
    """Sends the events of one run to its file and to a receiver."""

    def __init__(self, file: Path, say: Callable[[str], None]) -> None:
        self._say = say
        private_folder(file.parent)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        self._file = FileTransport(FileConfig(log_file_path=str(file), append=True))
        self._receiver = _Receiver.of_environment(say)

    def send(self, events: Iterable[RunEvent]) -> None:
        """Appends the events to the file, a line each, and hands them on. Raises OSError or RuntimeError on failure."""
        for each in events:
            self._file.emit(each)
            if self._receiver is not None:
                self._receiver.put(each)

    def close(self) -> None:
        """Waits for the receiver, at most TIMEOUT_S seconds."""
        if self._receiver is not None:
            self._receiver.close()


class _Receiver:
    # works in a thread of its own; one that failed is not tried again by this process

    has_failed = False

    def __init__(self, transport: Transport, say: Callable[[str], None]) -> None:
        self._transport, self._say = transport, say
        self._events: queue.SimpleQueue[RunEvent | None] = queue.SimpleQueue()
        self._n_put = self._n_taken = 0
        self._failure = ""
        self._thread = threading.Thread(target=self._work, name="lineage", daemon=True)
        self._thread.start()

    @classmethod
    def of_environment(cls, say: Callable[[str], None]) -> _Receiver | None:
        if cls.has_failed:
            return None
        try:
            config = _config()
            return None if config is None else cls(_bounded(get_default_factory().create(config)), say)
        except Exception as error:  # noqa: BLE001 - whatever a transport makes of its configuration, which may hold a key
            cls.has_failed = True
            say(
                f"lineage: the receiver of OPENLINEAGE_URL or OPENLINEAGE_CONFIG cannot be used: {type(error).__name__}"
            )
            return None

    def put(self, each: RunEvent) -> None:
        self._n_put += 1
        self._events.put(each)

    def close(self) -> None:
        self._events.put(None)
        self._thread.join(TIMEOUT_S)
        if self._n_taken < self._n_put:
            type(self).has_failed = True
            why = self._failure or f"it took longer than {TIMEOUT_S:g} s"
            n_lost = self._n_put - self._n_taken
            self._say(
                f"lineage: the receiver did not take {n_lost} of {self._n_put} events ({why}); the file has them all"
            )

    def _work(self) -> None:
        while (each := self._events.get()) is not None:
            if self._failure:
                continue
            try:
                self._transport.emit(each)
                self._n_taken += 1
            except Exception as error:  # noqa: BLE001 - whatever a transport makes of its configuration, which may hold a key
                self._failure = type(error).__name__


def _bounded(transport: Transport) -> Transport:
    # over HTTP it never waits long nor tries again, and reads no answer
    for each in getattr(transport, "transports", (transport,)):
        if isinstance(each, HttpTransport):
            each.timeout = min(each.timeout, TIMEOUT_S)
            each.config.retry = dict.fromkeys(("total", "connect", "read", "redirect"), 0)
            each.session.stream = True
    return transport


def _config() -> dict[str, Any] | None:
    url, file = os.environ.get("OPENLINEAGE_URL"), os.environ.get("OPENLINEAGE_CONFIG")
    if os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true" or not (url or file):
        return None
    if file:
        config: dict[str, Any] = dict(yaml.safe_load(Path(file).read_text(encoding="utf-8"))["transport"])
    else:
        config = {"type": "http", "url": url, "endpoint": os.environ.get("OPENLINEAGE_ENDPOINT") or "api/v1/lineage"}
        key = os.environ.get("OPENLINEAGE_API_KEY")
        if key:
            config["auth"] = {"type": "api_key", "api_key": key}
    return config
