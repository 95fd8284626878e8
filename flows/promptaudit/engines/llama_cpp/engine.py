"""Asks a model in a GGUF file that llama.cpp serves."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from promptaudit.engines import MayTry, Request, Say, ServedModel, always, silent
from promptaudit.engines.llama_cpp.command_line import gguf_of, launch_of, llama_server
from promptaudit.engines.llama_cpp.loglikelihoods import loglikelihoods
from promptaudit.engines.local_server.asking import Asking, NoReply, joined, text_of
from promptaudit.engines.local_server.engine import LocalServerEngine
from promptaudit.engines.local_server.launch import Launch
from promptaudit.engines.loglikelihood import Loglikelihood
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import nearest
from promptaudit.registry.model_cards import LlamaServer
from promptaudit.registry.registry import Entry

QUEUED = 2
"""Sets the requests in flight for each slot, so that one waits when another is done."""


class LlamaServerEngine(LocalServerEngine):
    """Asks a model behind llama.cpp's server: of a file that the card names, or at the card's addresses."""

    def __init__(self, entry: Entry, card: ModelCard, may_try: MayTry = always, say: Say = silent) -> None:
        settings = card.llama_cpp or LlamaServer()
        if card.starts_server:
            n_connections = min(card.limits.max_connections, QUEUED * settings.slots)
            limits = card.limits.model_copy(update={"max_connections": n_connections})
            card = card.model_copy(update={"limits": limits})
        super().__init__(card, may_try, say, settings.slots)
        self._root = entry.root

    def _launched(self) -> Launch:
        return launch_of(self._card, self._root)

    async def _read_served(self, servers: Sequence[Asking]) -> ServedModel:
        reported = [await _read_one(server) for server in servers]
        is_ours = self._server is not None
        is_own = is_ours and llama_server() is None  # the server in xllamacpp reports no version
        file = gguf_of(self._card, self._root) if is_ours else None
        contexts = [each.context_length for each in reported if each.context_length is not None]
        return ServedModel(
            ", ".join(each.endpoint for each in reported),
            engine_version=_version() if is_own else joined([each.engine_version for each in reported]),
            served_model=joined([each.served_model for each in reported]) if file is None else file.name,
            context_length=min(contexts, default=None),
            weights_sha256=None if file is None else await asyncio.to_thread(_sha256_of, file),
            chat_template=joined([each.chat_template for each in reported]),
        )

    async def _weigh(self, asking: Asking, request: Request, options: Sequence[str]) -> list[Loglikelihood]:
        return await loglikelihoods(asking, request.messages, options)


async def _read_one(server: Asking) -> ServedModel:
    # raises EngineError for a server that is not there or refuses the key
    wanted = server.card.model
    try:
        names = [text_of(model["id"]) for model in (await server.get(f"{server.v1}/models"))["data"]]
    except NoReply as error:
        raise server.refused(str(error)) from None
    except (LookupError, TypeError):
        msg = "no list of models as llama.cpp gives it"
        raise server.refused(msg) from None
    if wanted not in names and len(names) != 1:  # a server of one model answers for it, whatever the name
        msg = f"it serves no such model{nearest(wanted, filter(None, names))}"
        raise server.refused(msg)
    properties, length = {}, None
    with contextlib.suppress(NoReply):  # a gateway before it may pass /v1 on alone
        properties = await server.get(f"{server.root}/props")
    with contextlib.suppress(LookupError, TypeError, ValueError):
        length = int(properties["default_generation_settings"]["n_ctx"])
    template = properties.get("chat_template")
    return ServedModel(
        urlsplit(server.base_url).netloc,
        engine_version=text_of(properties.get("build_info")),
        served_model=wanted if wanted in names else names[0],
        context_length=length,
        chat_template=template if isinstance(template, str) else None,
    )


def _version() -> str | None:
    with contextlib.suppress(PackageNotFoundError):
        return f"xllamacpp {version('xllamacpp')}"
    return None


def _sha256_of(file: Path) -> str:
    found = file.stat()
    return _sha256(file, found.st_size, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=64)
def _sha256(file: Path, *stamp: int) -> str:
    # several engines of a run open one model: the stamp says whether the file is still the same
    del stamp
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
