"""Asks a model that vLLM serves."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from urllib.parse import urlsplit

from promptaudit.engines import MayTry, Request, Say, ServedModel, always, silent
from promptaudit.engines.local_server.asking import Asking, NoReply, joined, text_of
from promptaudit.engines.local_server.engine import LocalServerEngine
from promptaudit.engines.local_server.launch import Launch
from promptaudit.engines.loglikelihood import Loglikelihood, SingleTokens
from promptaudit.engines.vllm.command_line import launch_of
from promptaudit.engines.vllm.loglikelihoods import loglikelihoods
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import nearest
from promptaudit.registry.model_cards import VllmServer


class VllmServerEngine(LocalServerEngine):
    """Asks a model behind vLLM's server."""

    def __init__(self, card: ModelCard, may_try: MayTry = always, say: Say = silent) -> None:
        super().__init__(card, may_try, say, (card.vllm or VllmServer()).max_num_seqs or 1)
        self._single_tokens: SingleTokens = {}

    def _launched(self) -> Launch:
        return launch_of(self._card)

    async def _read_served(self, servers: Sequence[Asking]) -> ServedModel:
        # raises EngineError for a server that is not there, refuses the key, does not speak vLLM's protocol or does not
        # serve the card's model. Servers that differ: each of their answers, and the shortest context. `served_model`
        # is the model behind the requested name, if the server reports it
        reported = [await _read_one(server) for server in servers]
        contexts = [length for _, _, length in reported if length is not None]
        return ServedModel(
            ", ".join(urlsplit(server.base_url).netloc for server in servers),
            engine_version=joined([version for version, _, _ in reported]),
            served_model=joined([model for _, model, _ in reported]),
            context_length=min(contexts, default=None),
        )

    async def _weigh(self, asking: Asking, request: Request, options: Sequence[str]) -> list[Loglikelihood]:
        return await loglikelihoods(asking, request.messages, options, self._single_tokens)


async def _read_one(server: Asking) -> tuple[str | None, str | None, int | None]:
    name = server.card.model
    try:
        models = {str(model["id"]): model for model in (await server.get(f"{server.v1}/models"))["data"]}
    except NoReply as error:
        raise server.refused(str(error)) from None
    except (LookupError, TypeError):
        msg = "no list of models as vLLM gives it"
        raise server.refused(msg) from None
    if name not in models:
        msg = f"it serves no such model{nearest(name, models)}"
        raise server.refused(msg)
    mine, version = models[name], None
    length = mine.get("max_model_len")
    with contextlib.suppress(NoReply):  # a gateway before it may pass /v1 on alone
        version = text_of((await server.get(f"{server.root}/version")).get("version"))
    return version, text_of(mine.get("root")) or name, length if type(length) is int else None
