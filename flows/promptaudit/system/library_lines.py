"""Keeps the lines of libraries out of a user's terminal."""

from __future__ import annotations

import logging
import warnings


def quiet_libraries() -> None:
    """Has libraries write nothing to the terminal by themselves: what they warn of concerns our code, and --debug shows it.

    Python writes what they log to stderr where the root logger has no handler. What -W and PYTHONWARNINGS say comes first.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.simplefilter("ignore", append=True)
