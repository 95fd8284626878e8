"""Rewords by a command of the user's own: one JSON object on its stdin, a JSON array of strings on its stdout."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from flows.engines.own_code import secrets
from flows.engines.scrub import one_line
from flows.rephrasers import Wording
from models_registry.cards import RephraserCard
from models_registry.errors import EngineError
from models_registry.own_code import program_of, with_sha256

LAST_LINES = 4
MOST_BYTES = 20_000_000


class CommandRephraser:
    """Runs a command for each asking, in the registry folder and without a shell; it has this process's environment."""

    def __init__(self, card: RephraserCard, root: Path) -> None:
        self.max_rounds = card.max_rounds
        self._card, self._root = card, root.resolve()
        self._program, *self._arguments = card.command or ("",)

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Returns what the command prints.

        Raises EngineError where it cannot be run, takes longer than `timeout_s`, ends with an exit code other than 0 or prints
        anything else; CardError where its files are not as they were.
        """
        where = f"task '{wording.task_id}' is not reworded: command '{(self._card.command or ('',))[0]}'"
        with_sha256(self._card, self._root)
        asked = {
            "task_id": wording.task_id, "instruction": wording.instruction, "n": n, "temperature": temperature,
            "round": round_,
        }  # fmt: skip
        code, out, err = await self._run(where, json.dumps(asked).encode() + b"\n")
        said = _last_words(err)
        if code != 0:
            msg = f"{where} ended with exit code {code}{said}"
            raise EngineError(msg)
        texts = _texts(out)
        if texts is None:
            msg = f"{where} printed no JSON array of strings{said}"
            raise EngineError(msg)
        return texts

    async def close(self) -> None:
        """Does nothing: a command ends with its answer."""

    async def _run(self, where: str, request: bytes) -> tuple[int, bytes, bytes]:
        program = program_of(self._program, self._root)
        if program is None:
            msg = f"{where} cannot be run: there is no such program"
            raise EngineError(msg)
        try:
            process = await asyncio.create_subprocess_exec(
                program, *self._arguments, cwd=self._root, start_new_session=True, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            msg = f"{where} cannot be run: {error.strerror}"
            raise EngineError(msg) from None
        try:
            async with asyncio.timeout(self._card.timeout_s):
                out, err = await process.communicate(request)
        except TimeoutError:
            msg = f"{where} took longer than {self._card.timeout_s:g} s"
            raise EngineError(msg) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # whatever it started goes with it
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        return process.returncode or 0, out, err


def _texts(out: bytes) -> list[str] | None:
    try:
        texts = json.loads(out) if len(out) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else None


def _last_words(err: bytes) -> str:
    """The last lines of stderr, keys taken out, on one line; "" where it said nothing."""
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    words = one_line(" ".join(lines[-LAST_LINES:]), secrets())
    return f"; it said: {words}" if words else ""
