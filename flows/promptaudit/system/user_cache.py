"""Keeps data that depends only on the installed packages, once for every warehouse of a user.

Losing it costs seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
from functools import cache as cached
from pathlib import Path

from platformdirs import user_cache_path

from promptaudit.registry.errors import WarehouseError
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system.files import private_folder, put_in_place
from promptaudit.system.settings import Settings

OTHERS = 0o022


def kept(name: str) -> Path | None:
    """Gives the place of a file of this name for this installation; None if the user has no home folder."""
    try:
        folder = Settings().cache or user_cache_path("promptaudit")
        folder = folder.expanduser().absolute()
    except RuntimeError:  # no home
        return None
    return folder / hashlib.sha256(str(dbt_project()).encode()).hexdigest()[:12] / name


def read(name: str) -> bytes | None:
    """Reads what was kept under this name; None if there is nothing, if it is damaged, or if others may write there."""
    path = kept(name)
    try:
        if path is None or not _is_private(path.parent):
            return None
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest().encode() == digest else None


def keep(name: str, content: bytes, *, instead_of: str = "") -> None:
    """Keeps a file whole and private to its owner, and removes older files that match `instead_of`.

    Does nothing if it cannot.
    """
    path = kept(name)
    with contextlib.suppress(OSError, WarehouseError):
        if path is None:
            return
        private_folder(path.parent)
        if not _is_private(path.parent):
            return
        handle, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
            put_in_place(Path(draft), path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise
        for older in path.parent.glob(instead_of) if instead_of else ():
            if older != path:
                older.unlink(missing_ok=True)


@cached
def folder(name: str) -> Path:
    """Gives a folder of this name that only this user writes to; a temporary one if there is no place for it."""
    path = kept(name)
    with contextlib.suppress(OSError, WarehouseError):
        if path is not None:
            private_folder(path)
            if _is_private(path) and _is_private(path.parent):
                return path
    folder = tempfile.mkdtemp(prefix="promptaudit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _is_private(folder: Path) -> bool:
    # this user's, and not writable by others: its contents become SQL and script
    owner = folder.stat()
    return os.name != "posix" or (owner.st_uid == os.geteuid() and not owner.st_mode & OTHERS)
