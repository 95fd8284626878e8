"""Says how a server is started for a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from promptaudit.system.helper_processes import is_hidden

_OURS = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")  # of our environment, which need not be the server's


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A server that can be started.

    program: its name, as messages say it; model: the card's name of the model.
    settings: what makes it another server; engines that have them alike share one.
    words: the command, given a port of loopback; environment: what it is given beside its key.
    key_variable: the variable in which it is told the key that it asks of everybody.
    timeout_s: seconds until one that does not come up is given up.
    """

    program: str
    model: str
    settings: tuple[str, ...]
    words: Callable[[int], list[str]]
    environment: Mapping[str, str]
    key_variable: str
    timeout_s: float


def environment(kept: tuple[str, ...] = (), dropped: str | None = None) -> dict[str, str]:
    """Returns this process's environment without keys, but for those in `kept`, and without what begins with `dropped`.

    The mark by which a killed run's processes are found and ended comes along.
    """
    found = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS and (name in kept or not is_hidden(name)) and not (dropped and name.startswith(dropped))
    }
    # without the working folder on its path: a file there could stand in for any of its modules
    return {**found, "PYTHONSAFEPATH": "1", "DO_NOT_TRACK": "1"}
