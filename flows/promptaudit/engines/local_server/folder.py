"""Makes a private folder for a server's log, temporary files and sockets; it goes with the process."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from promptaudit.system import temporary_folders

FOLDER = "promptaudit-server-"
LOG = "log.txt"
MAX_BASE_BYTES = 107 - len(f"/{FOLDER}12345678/") - 36  # of a socket's path, whose name is a UUID


def make_folder() -> Path:
    """Makes a new folder, and removes folders in which no server has lived for a day."""
    return temporary_folders.make_folder(FOLDER, _base(), held=LOG)


def open_log(folder: Path) -> BinaryIO:
    """Opens the folder's log under a lock. As long as a process holds the open file, no sweep removes the folder."""
    log = open(folder / LOG, "xb", opener=_private)  # noqa: SIM115 - the caller closes it
    fcntl.flock(log, fcntl.LOCK_EX)
    return log


def _base() -> str:
    # the usual folder of temporary files, unless no socket could lie that deep
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= MAX_BASE_BYTES else "/tmp"  # noqa: S108 - made private by mkdtemp


def remove_folder(folder: Path, *, keep_log: bool = False) -> None:
    """Removes a folder, or with `keep_log` everything in it but the log."""
    if not keep_log:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != LOG:
            path.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
