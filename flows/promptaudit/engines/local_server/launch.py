"""Describes how a server is started for a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from promptaudit.system.helper_processes import is_hidden

_OURS = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")  # our own environment, which need not be the server's


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Describes a server that can be started.

    program: its name in messages; model: the card's name of the model.

    settings: engines whose settings are equal share one server.

    words: the command, given a port of loopback; environment: its variables beside its key.

    key_variable: the variable that passes it the key that it asks of every client.

    timeout_s: seconds until a server that does not come up is given up.
    """

    program: str
    model: str
    settings: tuple[str, ...]
    words: Callable[[int], list[str]]
    environment: Mapping[str, str]
    key_variable: str
    timeout_s: float


def environment(kept: tuple[str, ...] = (), dropped: str | None = None) -> dict[str, str]:
    """Copies this process's environment without keys (except `kept`) and without names that begin with `dropped`.

    The mark by which a killed run's processes are found and ended stays in it.
    """
    found = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS
        and (name in kept or not is_hidden(name, value))
        and not (dropped and name.startswith(dropped))
    }
    # without the working folder on its path: a file there could stand in for any of its modules
    return {**found, "PYTHONSAFEPATH": "1", "DO_NOT_TRACK": "1"}
