"""Reads from a server's log why it ended."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from promptaudit.system.scrub import one_line

TAIL_BYTES = 64 * 1024
_CAUSE = re.compile(r"(?:[\w.]*(?:Error|Exception)(?::|$)|\berror:|\bValue error,).*")
_FIRST = re.compile(r"^[\d.]+ E (?:srv|cmn)? *(.+)")  # llama.cpp, which logs the cause before its consequences
_DIED = re.compile(r"engine core exited unexpectedly")  # a warning, but the only line about a killed engine
_NO_CAUSE = ("See root cause above", "See stack trace (above)", " INFO ", " WARNING ")


def last_words(log: Path, secrets: Sequence[str] = ()) -> str:
    """Picks a log's last line that names an error and no consequence of another, else its last without a warning."""
    lines = tail(log)
    causes = [match[0] for line in lines if not _is_no_cause(line) and (match := _CAUSE.search(line))]
    first = next((match[1] for line in lines if (match := _FIRST.match(line))), None)
    causes = causes or ([first] if first else [])
    causes = causes or [match[0] for line in lines if (match := _DIED.search(line))]
    lines = [line for line in lines if "warn" not in line.casefold()]
    hidden = [*secrets, *(os.environ.get(name, "") for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))]
    return one_line((causes or lines or ["it said nothing"])[-1], hidden)


def _is_no_cause(line: str) -> bool:
    return any(words in line for words in _NO_CAUSE)


def tail(log: Path) -> list[str]:
    """Reads the last lines of a log, blank ones left out; none if it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return []
