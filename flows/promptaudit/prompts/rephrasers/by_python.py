"""Rewords by a function of the user's own, `paraphrase(text, n, temperature)`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from promptaudit.engines.own_code import load, raised
from promptaudit.prompts.rephrasers import Wording
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.own_code import Code
from promptaudit.system.daemon_threads import DaemonThreads

Paraphrase = Callable[[str, int, float | None], object]


class PythonRephraser:
    """Calls a function for rewordings and loads it on the first call."""

    def __init__(self, card: RephraserCard, code: Code) -> None:
        self.max_rounds = card.max_rounds
        self._code = code
        self._threads = DaemonThreads(1)
        self._function: Paraphrase | None = None

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Calls the function for rewordings, without the number of the round.

        Raises EngineError if it cannot be loaded, raises an error, or returns anything but texts.
        """
        del round_
        where = f"task '{wording.task_id}' is not reworded"
        function = self._function or await self._load(where)
        call = functools.partial(function, wording.instruction, n, temperature)
        try:
            texts = await self._threads.run(lambda: _listed(call()))
        except Exception as error:  # noqa: BLE001 - whatever a person's function raises
            msg = f"{where}: {raised(self._code.name, error)}"
            raise EngineError(msg) from None
        if not all(isinstance(text, str) for text in texts):
            kinds = ", ".join(sorted({type(text).__name__ for text in texts}))
            msg = f"{where}: '{self._code.name}' returned no list of texts, found {kinds}"
            raise EngineError(msg)
        return texts

    async def close(self) -> None:
        """Ends the thread."""
        self._threads.end()

    async def _load(self, where: str) -> Paraphrase:
        function = await self._threads.run(lambda: load(self._code, where))
        self._function = function
        return function


def _listed(texts: object) -> list[str]:
    # generators too; a single text, or anything that is no list, becomes a list of one
    return list(texts) if hasattr(texts, "__iter__") and not isinstance(texts, str) else [texts]  # type: ignore[list-item]
