"""Ends work that takes too long: first by an interrupt, then by ending the process if that is not enough."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta

from promptaudit.registry.errors import MeasureError

GRACE_S = 300.0
"""Seconds that a process has to save what it holds, once its time is up."""


@contextlib.contextmanager
def at_most(limit: timedelta, what: str, grace_s: float = GRACE_S, spent_s: float = 0.0) -> Iterator[None]:
    """Interrupts the main thread after `limit`, of which `spent_s` seconds are over, and raises MeasureError naming `what`.

    A process that has not ended `grace_s` seconds later is ended with MeasureError's exit code, and the stacks of its
    threads go to stderr. Landed rows are kept, and `child_processes` ends the processes that it started. Work in
    another thread than the main one is not interrupted: for it only the end of the process applies.
    """
    message = (
        f"{what} took longer than {hours(limit)} and was stopped; what had landed is kept, and the next start goes on"
    )
    watch = _Watch(limit.total_seconds() - spent_s, grace_s, message)
    with ended_by_sigterm():
        try:
            watch.start()
            try:
                yield
            finally:
                watch.stop()
        except BaseException:
            watch.stop()  # it strikes once, and may have done so in the midst of stopping
            if watch.has_struck:
                raise MeasureError(message) from None
            raise
        if watch.has_struck:  # the code inside caught the interrupt and went on
            raise MeasureError(message)


class _Watch(threading.Thread):
    def __init__(self, limit_s: float, grace_s: float, message: str) -> None:
        super().__init__(name="deadline", daemon=True)
        self.has_struck = False
        self._limit_s, self._grace_s, self._message = limit_s, grace_s, message
        self._is_over, self._striking = threading.Event(), threading.Lock()
        self._main = threading.main_thread() if threading.current_thread() is threading.main_thread() else None

    def run(self) -> None:
        if self._is_over.wait(self._limit_s):
            return
        with self._striking:
            if self._is_over.is_set():
                return
            self.has_struck = True
            if self._main is not None and self._main.ident is not None:
                signal.pthread_kill(self._main.ident, signal.SIGTERM)
        if self._is_over.wait(self._grace_s):
            return
        with contextlib.suppress(Exception):  # a process may have no stderr
            sys.__stderr__.write(f"{self._message}; its process did not end, and is ended\n")  # type: ignore[union-attr]
            faulthandler.dump_traceback(sys.__stderr__)  # type: ignore[arg-type]
        os._exit(MeasureError.exit_code)

    def stop(self) -> None:
        # after this no signal is sent
        with self._striking:
            self._is_over.set()


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Makes SIGTERM raise KeyboardInterrupt, unless the program has a handler of its own."""
    is_open = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) in (
        signal.SIG_DFL,
        signal.SIG_IGN,
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if is_open else None
    try:
        yield
    finally:
        if is_open:
            signal.signal(signal.SIGTERM, before)


def hours(span: timedelta) -> str:
    """Writes a span of time as `24 h`, `90 min` or `20 s`."""
    seconds = span.total_seconds()
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
