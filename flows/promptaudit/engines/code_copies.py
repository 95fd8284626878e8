"""Copies the registry folders of own code. It runs in a private copy, which holds only what the user trusts."""

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
    """Finds the file of a function, or the folder of a command, in a private copy of its registry folder.

    Raises CardError if the folder is not as it was when the code was found.
    """
    assert code.folder is not None and code.folder_sha256 is not None  # noqa: S101, PT018 - no installed module
    copy = _copied(code.folder, code.folder_sha256, code.named)
    return copy if code.file is None else copy / code.file.name


@functools.cache
def bytecode_folder() -> Path:
    """Makes this process's folder for compiled bytecode, empty at first, so that none beside the sources is read."""
    return _private()


@functools.lru_cache(maxsize=64)
def _copied(folder: Path, sha256: str, named: frozenset[Path]) -> Path:
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
    # lasts as long as this process
    made = make_folder("promptaudit-code-")
    hold(made)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
