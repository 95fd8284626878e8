"""Copies the registry folders of own code: it runs in a private copy, in which nothing lies but what the user trusts."""

from __future__ import annotations

import atexit
import functools
import shutil
from pathlib import Path

from promptaudit.registry.code_folder import folder_sha256
from promptaudit.registry.errors import CardError
from promptaudit.registry.own_code import Code
from promptaudit.system.temporary_folders import hold, make_folder


def copied(code: Code) -> Path:
    """Returns the file of a function, or the folder of a command, in a private copy of its registry folder.

    Raises CardError where the folder is not as it was when the code was found.
    """
    assert code.folder is not None and code.folder_sha256 is not None  # noqa: S101, PT018 - no installed module
    copy = _copied(code.folder, code.folder_sha256, code.named)
    return copy if code.file is None else copy / code.file.name


@functools.cache
def bytecode_folder() -> Path:
    """Returns a folder of this process for what Python compiles, empty at first: what lies beside sources is not read then."""
    return _private()


@functools.lru_cache(maxsize=64)
def _copied(folder: Path, sha256: str, named: frozenset[Path]) -> Path:
    """Returns a copy that lasts as long as this process."""
    copy = _private() / folder.name  # beside it lies nothing, whatever lies beside the folder
    copy.mkdir()
    try:
        is_same = folder_sha256(folder, named, copy) == sha256
    except OSError as error:
        msg = f"its code cannot be read: {error.filename}: {error.strerror}"
        raise CardError(msg) from None
    if not is_same:
        msg = f"a file of {folder}, which code may use, changed since it was looked at"
        raise CardError(msg)
    return copy


def _private() -> Path:
    """Returns a folder that lasts as long as this process."""
    made = make_folder("promptaudit-code-")
    hold(made)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
