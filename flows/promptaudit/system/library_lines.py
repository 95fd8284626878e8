"""Keeps the lines of libraries out of a user's terminal."""

from __future__ import annotations

import logging
import warnings


def quiet_libraries() -> None:
    """Stops libraries from writing to the terminal: their warnings concern our code, and --debug shows them.

    Python writes what they log to stderr if the root logger has no handler. Settings of -W and PYTHONWARNINGS come
    first.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.simplefilter("ignore", append=True)
