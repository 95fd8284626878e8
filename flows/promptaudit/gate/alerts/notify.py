"""Sends people the message of a night through the targets of the settings, and calls the watcher of nights.

PROMPTAUDIT_NOTIFY holds the addresses of apprise (`slack://…`, `mailtos://…`, `json://host/path`), white space or
commas between: secrets, as the tokens in them are. A target that is down, slow, malformed or hostile costs a warning
that names its place among them and its service, never its address, and at most 20 seconds; it never fails the audit.

A message is sent at least once: `intended` lands before and `sent` after, and a night that resumes sends again what is
not `sent`. It is `sent` once a single target took it, so that nobody gets it twice because of another's fault.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Literal

from promptaudit.gate.alerts.message import Message
from promptaudit.registry.errors import lines_of
from promptaudit.system.clock import now
from promptaudit.system.display.progress import Progress
from promptaudit.system.helper_processes import environment
from promptaudit.system.keys import content_id
from promptaudit.system.scrub import scrub
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of

SECONDS = 20.0  # for all targets together
EXIT_CODE = "{exit_code}"
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
TONES = {
    "regression": "failure",
    "gate_failed": "failure",
    "unmeasured": "warning",
    "recovered": "success",
}
# an address may hold commas and colons; what follows one begins like an address
_BETWEEN = re.compile(r"\s*,\s*(?=[A-Za-z][A-Za-z0-9+.-]{0,30}://)|\s+,?\s*|,\s+|,$")
_NAMED = re.compile(r"[^\w .+-]")

Delivery = Literal["sent", "failed", "nobody", "told"]


def targets_of(settings: Settings) -> list[str]:
    """Lists the addresses of PROMPTAUDIT_NOTIFY, each once, in their order. They are secrets."""
    text = "" if settings.notify is None else settings.notify.get_secret_value()
    return list(dict.fromkeys(part for part in _BETWEEN.split(text.strip()) if part))


def notify(
    warehouse: Warehouse, audit_run_id: str, kind: str, message: Message, settings: Settings, progress: Progress
) -> Delivery:
    """Sends a night's message of one kind to every target, once.

    The result is sent (at least one target took it), failed (none did), nobody (no target is set; nothing lands) or
    `told` (it was sent before). Where its rows cannot land a warning says so, and it is sent all the same.
    """
    targets = targets_of(settings)
    if not targets:
        return "nobody"
    notification_id = content_id("notification", audit_run_id, kind, message.title, message.body)
    if _was_sent(warehouse, audit_run_id, notification_id, progress):
        return "told"

    def keep(state: str, error: str | None = None) -> None:
        row = {
            "audit_run_id": audit_run_id,
            "notification_id": notification_id,
            "kind": kind,
            "state": state,
            "n_targets": len(targets),
            "error": error,
            "recorded_at": now(),
        }
        try:
            warehouse.land([("notifications", frame_of("notifications", [row]))])
        except Exception as failure:  # noqa: BLE001 - a message that cannot be kept is sent all the same
            progress.warn(f"the message's state did not land: {'; '.join(lines_of(failure))}")

    keep("intended")
    words = {"title": scrub(message.title), "body": scrub(message.text), "tone": TONES.get(kind, "info")}
    answers = {answer["target"]: answer for answer in _deliver({"targets": targets, **words}, SECONDS)}
    failures = [why for place in range(1, len(targets) + 1) if (why := _failure(place, answers.get(place)))]
    error = None
    if failures:
        error = f"{len(failures)} of {len(targets)} targets did not get it: {'; '.join(failures[:5])}"
        progress.warn(f"{kind}: {error}")
    state: Delivery = "failed" if len(failures) == len(targets) else "sent"
    keep(state, error)
    return state


def _was_sent(warehouse: Warehouse, audit_run_id: str, notification_id: str, progress: Progress) -> bool:
    query = (
        "select 1 from raw.notifications where audit_run_id = $run and notification_id = $id and state = 'sent' limit 1"
    )
    try:
        return bool(warehouse.read(query, run=audit_run_id, id=notification_id))
    except Exception as failure:  # noqa: BLE001 - sent twice rather than never
        progress.warn(f"whether it was told before is not known: {'; '.join(lines_of(failure))}")
        return False


def heartbeat(settings: Settings, exit_code: int, progress: Progress, *, took_place: bool = True) -> bool:
    """Gets PROMPTAUDIT_HEARTBEAT_URL, so that a watcher notices a night that never ends. True if it answered.

    A plain GET says that the night took place, whatever came of it. Watchers that take the exit code as well
    (`…/<uuid>/0`, `?status=0`) get it where the address says `{exit_code}`. Without an address nothing is called and
    the result is False; a redirect is not followed; a failure is one warning, after three tries within 20 seconds. A
    night that began no run did not take place: then only an address that takes the exit code is called.
    """
    url = "" if settings.heartbeat_url is None else settings.heartbeat_url.get_secret_value().strip()
    if not url or not (took_place or EXIT_CODE in url):
        return False
    answers = _deliver({"url": url.replace(EXIT_CODE, str(int(exit_code)))}, SECONDS)
    why = answers[0]["error"] if answers else f"no answer within {SECONDS:g} s"
    if why:
        progress.warn(f"PROMPTAUDIT_HEARTBEAT_URL: {why}")
    return not why


def _failure(place: int, answer: Mapping[str, Any] | None) -> str | None:
    # the service goes by the library's word for it
    if answer is None:
        return f"target {place}: no answer within {SECONDS:g} s"
    if answer["error"] is None:
        return None
    service = f" ({_NAMED.sub('', answer['service'])[:40]})" if answer["service"] else ""
    return f"target {place}{service} {answer['error']}"


def _deliver(order: Mapping[str, Any], seconds: float) -> list[dict[str, Any]]:
    # the answers known by the time the child ended, or was ended
    # an address carries its own password or none; a proxy's login is needed to get out
    proxies = {name: value for name, value in os.environ.items() if name.lower() in PROXIES}
    quiet = environment() | proxies | {"NETRC": os.devnull}
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "promptaudit.gate.alerts.deliver"],
            env=quiet,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
    except OSError:
        return []
    try:
        output, _ = child.communicate(json.dumps({**order, "seconds": seconds + 5}), timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(child)
        output, _ = child.communicate()
    except BaseException:
        _end(child)
        child.wait()
        raise
    return [json.loads(line) for line in output.splitlines() if line.endswith("}")]


def _end(child: subprocess.Popen[str]) -> None:
    if os.name == "posix":
        os.killpg(child.pid, signal.SIGKILL)
    else:  # pragma: no cover - no process groups there
        child.kill()
