"""Loads functions of the user's own code for engines and rephrasers, and reports in a line what they raised."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from promptaudit.engines.code_copies import copied
from promptaudit.registry.errors import CardError, EngineError
from promptaudit.registry.own_code import Code
from promptaudit.system.helper_processes import is_hidden
from promptaudit.system.scrub import one_line
from promptaudit.udfs.readers.own_code import OwnCodeError, TrustedReader, load_function

FEW_CHARACTERS = 6  # of a key: MAX_TOKENS=16 is none
MANY_CHARACTERS = 16  # a shorter value may be an ordinary word of an answer


def load(code: Code, where: str) -> Callable[..., Any]:
    """Loads a function that the user trusts; raises EngineError in one line, which begins with `where`."""
    folder = None if code.folder is None else str(code.folder)
    try:
        file = None if folder is None else str(copied(code))
    except CardError as error:
        msg = f"{where}: {one_line(str(error).removeprefix('CardError: '), secrets())}"
        raise EngineError(msg) from None
    return load_reader(
        {"reader": "", "function": code.name, "file": file, "sha256": code.sha256, "folder": folder}, where
    )


def load_reader(reader: TrustedReader, where: str) -> Callable[..., Any]:
    """Loads the function of a reader; raises EngineError as `load` does."""
    try:
        return load_function(reader["function"], reader["file"], reader["sha256"], reader["folder"])
    except OwnCodeError as error:
        msg = f"{where}: {one_line(str(error), secrets())}"
        raise EngineError(msg) from None


def secrets() -> list[str]:
    """Lists the values of this environment that may be keys: 6 characters at least, by their name or a login in them."""
    return [value for name, value in os.environ.items() if is_hidden(name, value) and len(value) >= FEW_CHARACTERS]


def long_secrets() -> list[str]:
    """Lists the possible keys that are too long (16 characters or more) to be a word of an answer."""
    return [value for value in secrets() if len(value) >= MANY_CHARACTERS]


def raised(name: str, error: BaseException) -> str:
    """Reports in a line that a function raised an error, with the error's own words, keys taken out."""
    try:
        words = one_line(str(error), secrets(), limit=300)
    except Exception:  # noqa: BLE001 - an error of somebody's own may fail to say what it is
        words = ""
    return f"'{name}' raised {type(error).__name__}{f': {words}' if words else ''}"
