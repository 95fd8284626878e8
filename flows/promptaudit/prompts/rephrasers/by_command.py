"""Rewords by a command of the user's own: one JSON object on its stdin, a JSON array of strings on its stdout."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from promptaudit.engines.code_copies import bytecode_folder, copied
from promptaudit.engines.own_code import secrets
from promptaudit.prompts.rephrasers import Wording
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import CardError, EngineError
from promptaudit.registry.own_code import Code, command_sha256, program_of
from promptaudit.system.helper_processes import is_given
from promptaudit.system.scrub import one_line

LAST_LINES = 4
MOST_BYTES = 20_000_000
ENDS_WITHIN_S = 5.0

BASE = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")
"""Lists the variables that every command gets."""
PYTHON = ("PYTHONNOUSERSITE", "PYTHONPYCACHEPREFIX")
"""Lists variables that are set for Python, so that it reads no compiled file but its own of this process."""
# an absolute path in a word, as far as the characters around it show its ends
_PATH = re.compile(r"(?<![\w./])/[^\s'\"`;:,=()\[\]{}<>|&$*?\\]*")


class CommandRephraser:
    """Runs a command for each request, in a private copy of the registry folder and without a shell.

    Its environment holds what every command needs and what the card names, and nothing that may be a key.
    """

    def __init__(self, card: RephraserCard, code: Code) -> None:
        self.max_rounds = card.max_rounds
        self._card, self._code = card, code

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Runs the command and reads the rewordings that it prints.

        Raises EngineError if it cannot be run, takes longer than `timeout_s`, ends with an exit code other than 0 or
        prints anything else; CardError if a file of its folder, or another that it names, is not as it was when the
        user trusted it.
        """
        where = f"task '{wording.task_id}' is not reworded: command '{(self._card.command or ('',))[0]}'"
        asked = {
            "task_id": wording.task_id,
            "instruction": wording.instruction,
            "n": n,
            "temperature": temperature,
            "round": round_,
        }
        with tempfile.TemporaryFile() as err:
            code, out = await self._run(where, json.dumps(asked).encode() + b"\n", err)
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

    def _refuse_changed(self) -> None:
        # a file outside the folder that the command names must be as it was when it was hashed
        code, command = self._code, self._card.command
        if code.folder is None or command is None:
            return
        try:
            if command_sha256(command, code.folder, code.folder_sha256) == code.sha256:
                return
        except OSError as error:
            msg = f"its code cannot be read: {error.filename}: {error.strerror}"
            raise CardError(msg) from None
        msg = f"a file that {code} names changed since it was looked at"
        raise CardError(msg)

    async def _run(self, where: str, request: bytes, err: IO[bytes]) -> tuple[int, bytes]:
        # its exit code, 0 of one that is ended because it printed too much, and what it printed
        folder = copied(self._code)
        self._refuse_changed()
        words = [_led(word, self._code.folder or folder, folder) for word in self._card.command or ("",)]
        program = program_of(words[0], folder)
        if program is None:
            msg = f"{where} cannot be run: there is no such program"
            raise EngineError(msg)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *words[1:],
                cwd=folder,
                env=environment(self._card.environment),
                start_new_session=True,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=err,
            )
        except OSError as error:
            msg = f"{where} cannot be run: {error.strerror}"
            raise EngineError(msg) from None
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - pipes were asked for
        out = bytearray()
        try:
            async with asyncio.timeout(self._card.timeout_s):
                process.stdin.write(request)
                process.stdin.close()
                while len(out) <= MOST_BYTES and (part := await process.stdout.read(MOST_BYTES)):
                    out += part
                code = 0 if len(out) > MOST_BYTES else await process.wait()
        except TimeoutError:
            msg = f"{where} took longer than {self._card.timeout_s:g} s"
            raise EngineError(msg) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # whatever it started goes with it
                os.killpg(process.pid, signal.SIGKILL)
            # some Pythons call it ended once its pipe is read to the end, which a daemon that it left may keep open
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.communicate(), ENDS_WITHIN_S)
        return code, bytes(out)


def _led(word: str, original: Path, copy: Path) -> str:
    # the copy in place of the registry folder, by whichever link the word names it

    def led(path: str) -> str:
        real = Path(os.path.realpath(path))
        is_inside = real.is_relative_to(original) and not real.is_relative_to(copy)
        return str(copy / real.relative_to(original)) if is_inside else path

    if Path(word).is_absolute():  # a name in it may contain any character
        word = led(word)
    word = re.sub(re.escape(str(original)) + r"(?![\w.-])", lambda _: str(copy), word)
    return _PATH.sub(lambda found: led(found[0]), word)


def environment(names: Iterable[str]) -> dict[str, str]:
    """Builds the environment of a command whose card names these variables."""
    known = {name: os.environ[name] for name in (*BASE, *names) if name in os.environ}
    given = {name: value for name, value in known.items() if is_given(name, value)}
    folders = [folder for folder in given.pop("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    python = dict(zip(PYTHON, ("1", str(bytecode_folder())), strict=True))
    return {"PATH": os.pathsep.join(folders)} | given | python


def _texts(out: bytes) -> list[str] | None:
    try:
        texts = json.loads(out) if len(out) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else None


def _last_words(err: IO[bytes]) -> str:
    # keys taken out, on one line; "" if stderr is empty
    err.seek(max(0, err.seek(0, os.SEEK_END) - MOST_BYTES))
    lines = [line.strip() for line in err.read().decode("utf-8", "replace").splitlines() if line.strip()]
    words = one_line(" ".join(lines[-LAST_LINES:]), secrets())
    return f"; it said: {words}" if words else ""
