"""Runs batches through vLLM's run_batch on this machine, one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from promptaudit.flows.engines import Answer, ServedModel
from promptaudit.flows.engines.batches.lines import Draft, Results
from promptaudit.flows.engines.batches.protocol import Batches, BatchStatus
from promptaudit.flows.engines.local_server.folder import make_folder, open_log, remove_folder
from promptaudit.flows.engines.local_server.log import last_words, tail
from promptaudit.flows.engines.vllm.command_line import arguments, interpreter, vllm_environment
from promptaudit.flows.system.files import force, put_in_place
from promptaudit.flows.system.scrub import one_line
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError

INPUT, OUTPUT, UNFINISHED, LOG, ABOUT = "requests.jsonl", "results.jsonl", "results.part", "log.txt", "about.json"
MODULE = "vllm.entrypoints.openai.run_batch"
PEEK_S = 0.2  # between two looks at the process
GRACE_S = 15.0  # from being asked to end to being ended
_NAME = re.compile(r"vllm-[0-9a-f]{32}")
_PROGRESS = re.compile(r"Running batch:.*\| (\d+)/\d+ \[")


class VllmBatch(Batches):
    """Batches as folders beneath `folder`, a private one: requests, results, log; gone once their answers have landed.

    A batch that was cut short starts again from its requests. Nothing is paid, so nothing is lost but time. Raises
    EngineError where there is no vLLM.
    """

    def __init__(self, card: ModelCard, folder: Path) -> None:
        super().__init__(card, folder)
        self._python = interpreter()
        self._running: tuple[str, subprocess.Popen[bytes]] | None = None
        self._scratch: Path | None = None  # what vLLM leaves lying about, sockets too
        self._failed: dict[str, str] = {}
        self.served = ServedModel("this machine", served_model=card.model)

    async def submit(self, draft: Draft, metadata: Mapping[str, str]) -> str:
        """Puts a draft into the queue; the batch's id."""
        batch_id = f"vllm-{uuid.uuid4().hex}"
        about = {"metadata": dict(metadata), "n_requests": draft.n_requests, "at": datetime.now(UTC).isoformat()}
        await asyncio.to_thread(self._queue, batch_id, draft, json.dumps(about))
        return self._taken(batch_id)

    async def look(self, batch_id: str) -> BatchStatus | None:
        """Returns how a batch stands; starts it when none runs. `lost` is one whose folder is gone: it holds no answers."""
        about = self._about(batch_id)
        if about is None:
            return BatchStatus(state="lost", is_ended=True, n_requests=0, n_done=0, error="its folder is gone")
        n = int(about["n_requests"])
        self._reap()
        if (self._folder / batch_id / OUTPUT).exists():
            return BatchStatus(state="completed", is_ended=True, n_requests=n, n_done=n)
        if batch_id in self._failed:
            return BatchStatus(state="failed", is_ended=True, n_requests=n, n_done=0, error=self._failed[batch_id])
        if self._running is None:
            self._start(batch_id)
        is_running = self._running is not None and self._running[0] == batch_id
        n_done = _n_done(self._folder / batch_id / LOG) if is_running else 0
        return BatchStatus(state="in_progress" if is_running else "queued", is_ended=False, n_requests=n, n_done=n_done)

    async def answers(self, batch_id: str, sent: Sequence[str] = ()) -> AsyncIterator[tuple[str, Answer]]:
        """Yields (prediction_id, answer) of every line of the results; "" for a line that is no result.

        A refusal that holds for every request is in `refused` at the end.
        """
        self.refused = None
        path, about = self._folder / batch_id / OUTPUT, self._about(batch_id)
        if about is None or not path.is_file():  # nobody writes to a pipe of this name
            return
        at = datetime.fromisoformat(str(about["at"]))
        results = Results((), sent, at, lambda *refusal: self._learn(batch_id, *refusal))
        with path.open("rb") as file:
            async for pair in results.of(file):
                yield pair
        if results.stopped_by is not None:
            self.refused = EngineError(f"model '{self._card.model}' in vLLM: {one_line(results.stopped_by.text)}")

    async def find(self, metadata: Mapping[str, str]) -> list[str]:
        """Returns the ids of batches here with this metadata, oldest first."""
        known = {path.name: self._about(path.name) for path in self._folder.glob("vllm-*") if path.suffix != ".new"}
        mine = [
            (str(about["at"]), name) for name, about in known.items() if about and about["metadata"] == dict(metadata)
        ]
        return [name for _, name in sorted(mine)]

    async def forget(self, batch_id: str) -> None:
        """Removes a batch whose answers have landed, or that failed."""
        self._sent.pop(batch_id, None)
        if _NAME.fullmatch(batch_id):  # it comes back from a warehouse
            shutil.rmtree(self._folder / batch_id, ignore_errors=True)

    async def wait(self, seconds: float) -> None:
        """Waits so long, or until vLLM ends."""
        until = asyncio.get_running_loop().time() + seconds
        while (left := until - asyncio.get_running_loop().time()) > 0:
            if self._running is None or self._running[1].poll() is not None:
                # nothing to wait for; other tasks still get their turn
                await asyncio.sleep(min(left, PEEK_S))
                return
            await asyncio.sleep(min(left, PEEK_S))

    async def close(self) -> None:
        """Ends vLLM and what it started; a second call does nothing."""
        if self._running is not None:
            _, process = self._running
            self._running = None
            _signal(process, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.shield(asyncio.to_thread(process.wait, GRACE_S))
            _signal(process, signal.SIGKILL)
            process.wait()
        if self._scratch is not None:
            remove_folder(self._scratch)
            self._log.close()
            self._scratch = None

    def _queue(self, batch_id: str, draft: Draft, about: str) -> None:
        # under another name until it is whole, so that no half of one is ever found
        place = self._folder / f"{batch_id}.new"
        place.mkdir(mode=0o700)
        draft.file.flush()
        draft.file.seek(0)
        with open(place / INPUT, "xb", opener=_private) as file:
            shutil.copyfileobj(draft.file, file)
        (place / ABOUT).write_text(about, encoding="utf-8")
        force(place / INPUT)
        force(place / ABOUT)
        put_in_place(place, self._folder / batch_id)

    def _start(self, batch_id: str) -> None:
        place = self._folder / batch_id
        (place / UNFINISHED).unlink(missing_ok=True)
        command = [str(self._python), "-m", MODULE, "-i", str(place / INPUT), "-o", str(place / UNFINISHED)]
        if self._scratch is None:
            self._scratch = make_folder()
            self._log = open_log(self._scratch)
        with open(place / LOG, "wb", opener=_private) as log:
            process = subprocess.Popen(  # noqa: S603 - vLLM's own interpreter, flags of typed settings
                [*command, *arguments(self._card)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**vllm_environment(), "TMPDIR": str(self._scratch)},
                start_new_session=True,  # a group of its own, which ends together
            )
        self._running = (batch_id, process)

    def _reap(self) -> None:
        if self._running is None or self._running[1].poll() is None:
            return
        batch_id, process = self._running
        self._running = None
        _signal(process, signal.SIGKILL)  # what it started and left behind
        place = self._folder / batch_id
        if process.returncode == 0 and (place / UNFINISHED).exists():
            put_in_place(place / UNFINISHED, place / OUTPUT)
        else:
            self._failed[batch_id] = f"vLLM ended with {process.returncode}: {last_words(place / LOG)}"

    def _about(self, batch_id: str) -> dict[str, Any] | None:
        if not _NAME.fullmatch(batch_id):
            return None
        try:
            about: dict[str, Any] = json.loads((self._folder / batch_id / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return about


def _n_done(log: Path) -> int:
    counts = [match[1] for line in tail(log) if (match := _PROGRESS.search(line))]
    return int(counts[-1]) if counts else 0


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
