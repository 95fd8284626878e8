"""Ends work that takes too long: first as an interrupt would, and the process itself where that is not enough."""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta

from models_registry.errors import MeasureError

GRACE_S = 300.0
"""How long a process may take to put away what it holds, once its time is up."""


@contextlib.contextmanager
def at_most(limit: timedelta, what: str, grace_s: float = GRACE_S) -> Iterator[None]:
    """Interrupts the main thread after `limit`, which then raises MeasureError naming `what`.

    Whoever does not come to an end within `grace_s` seconds after that is ended with exit code 1, and the stacks of its threads
    go to stderr; what it had landed is kept, and `flows.guard` ends what it started. Of another thread than the main one only
    the second holds.
    """
    is_over = threading.Event()
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    if is_main and before in (signal.SIG_DFL, signal.SIG_IGN):
        signal.signal(signal.SIGTERM, signal.default_int_handler)

    def end() -> None:
        is_over.set()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    timer = threading.Timer(limit.total_seconds(), end)
    timer.daemon = True
    if is_main:
        timer.start()
    faulthandler.dump_traceback_later(limit.total_seconds() + grace_s, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    except BaseException:
        if not is_over.is_set():
            raise
        msg = f"{what} took longer than {hours(limit)} and was stopped; what had landed is kept, and the next start goes on"
        raise MeasureError(msg) from None
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()
        if is_main:
            signal.signal(signal.SIGTERM, before)


def hours(span: timedelta) -> str:
    """Returns a span of time as `24 h`, `90 min` or `20 s`."""
    seconds = span.total_seconds()
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
