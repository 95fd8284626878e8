"""Delivers one message, or calls one address, by an order on stdin: `python -m promptaudit.gate.alerts.deliver`.

It is a process of its own because a target may hang, flood or break what talks to it, and because the libraries that
talk to targets log what they send where. This process can be killed, what it logs or prints goes nowhere, and its
memory is bounded. Its answer for each target, a line of JSON on stdout as soon as it is known, holds only words of this
file and numbers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.message import Message as Headers
from http.client import HTTPException, InvalidURL
from typing import IO, Any

MEMORY = 512 * 1024**2  # bytes; some 100 MB are its own, and an answer without end is cut off by the rest
WAITS = (0.0, 1.0, 3.0)  # seconds before each try of an address; a message is sent once, a target may have taken it
FAULT = 500  # from this status on the fault is the server's, and may pass

_STATUS = re.compile(r"error=(\d{3})\b")
_UNREACHED = re.compile(r"(?i)connection error|socket exception|timed? ?out")


class _StatusHandler(logging.Handler):
    # keeps, by thread, the newest status or failure to connect that apprise logs, and never the text itself

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.by_thread: dict[int, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if status := _STATUS.search(text):
            self.by_thread[threading.get_ident()] = f"answered {status[1]}"
        elif _UNREACHED.search(text):
            self.by_thread[threading.get_ident()] = "could not be reached"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    # an address that moved is an error: secrets in it are for the host it was given for

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Headers, newurl: str
    ) -> None:
        """Follows no redirect."""


def send_all(
    targets: Sequence[str], title: str, body: str, tone: str, say: Callable[[Mapping[str, Any]], None]
) -> None:
    """Sends a message to every target at once, and reports for each one that it took the message, or why not."""
    import apprise

    statuses = _StatusHandler()
    library = logging.getLogger("apprise")
    library.handlers, library.propagate = [statuses], False
    library.setLevel(logging.INFO)
    asset = apprise.AppriseAsset(
        # nothing is kept on disk, made, fetched or read but the target's own address
        storage_mode="memory",
        pgp_autogen=False,
        pem_autogen=False,
        image_url_mask="",
        image_url_logo="",
        # no other host gets the message, and the text stays as it is
        http_redirects=False,
        async_mode=False,
        interpret_emojis=False,
        interpret_escapes=False,
        app_id="promptaudit",
        app_desc="promptaudit",
        app_url="",
    )

    def send(place: int, url: str) -> None:
        answer: dict[str, Any] = {"target": place, "service": None, "error": "its address cannot be read"}
        statuses.by_thread.pop(threading.get_ident(), None)  # of an earlier thread of this number
        try:
            service = apprise.Apprise.instantiate(url, asset=asset)
            if service is not None:
                answer["service"] = str(type(service).service_name)
                to = apprise.Apprise([service], asset=asset)
                is_sent = to.notify(
                    body=body, title=title, notify_type=apprise.NotifyType(tone), body_format=apprise.NotifyFormat.TEXT
                )
                answer["error"] = None if is_sent else statuses.by_thread.get(threading.get_ident(), "did not take it")
        except BaseException as error:  # noqa: BLE001 - a plugin's fault is its target's
            answer["error"] = f"could not be asked ({type(error).__name__})"
        say(answer)

    threads = [
        threading.Thread(target=send, args=(place, url), daemon=True) for place, url in enumerate(targets, start=1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def call(url: str, say: Callable[[Mapping[str, Any]], None]) -> None:
    """Gets an http or https address, again where nobody answered or the server failed, and reports the result."""
    why: str | None = None
    for wait in WAITS:
        time.sleep(wait)
        why, may_pass = _get(url)
        if why is None or not may_pass:
            break
    say({"target": 1, "service": None, "error": why})


def _get(url: str) -> tuple[str | None, bool]:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "promptaudit"})  # noqa: S310 - the next line
        if request.type not in ("http", "https"):
            return "is no http or https address", False
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(request, timeout=5):
            return None, False
    except urllib.error.HTTPError as error:
        return f"answered {error.code}", error.code >= FAULT
    except (ValueError, InvalidURL):
        return "is no http or https address", False
    except (OSError, HTTPException, MemoryError):
        return "could not be reached", True


def main() -> None:
    """Reads the order, carries it out and ends when its time is over, whatever a target does."""
    order = json.load(sys.stdin)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    turn = threading.Lock()

    def say(answer: Mapping[str, Any]) -> None:
        with turn:
            output.write(json.dumps(answer) + "\n")
            output.flush()

    # should the one who started this be gone, nobody else would end it
    timer = threading.Timer(order["seconds"], os._exit, [1])
    timer.daemon = True
    timer.start()
    with contextlib.suppress(ImportError, OSError, ValueError):  # where the system knows such a bound
        import resource

        # bounds data and not address space: glibc sets aside 128 MB of the latter a thread
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if "url" in order:
        call(order["url"], say)
    else:
        send_all(order["targets"], order["title"], order["body"], order["tone"], say)
    os._exit(0)  # a library's own threads keep nobody waiting


if __name__ == "__main__":
    main()
