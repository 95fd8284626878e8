"""Writes files whole and private to their owner.

A reader sees the old file or the new one, even if the write is cut short.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from promptaudit.registry.errors import BrokenFile, PromptauditError, WarehouseError

PRIVATE = 0o600  # its owner's alone
SHARED = 0o666  # as the umask has it
NO_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM, errno.EISDIR})
"""Errors on opening a link, a socket, a folder or somebody else's file."""
PRIVATE_UMASK = 0o077  # of a process whose files are its owner's alone


@contextlib.contextmanager
def writing(
    path: Path, draft: Path | None = None, *, then: str = "", kind: type[PromptauditError] = WarehouseError
) -> Iterator[None]:
    """Turns an error of the system about a path into one line, which may go on with `then`, and removes the draft."""
    try:
        yield
    except OSError as error:
        if draft is not None:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        msg = f"{path}: cannot be written: {error.strerror or error}{then}"
        raise kind(msg) from None


def write_text(text: str, path: Path, mode: int = PRIVATE) -> Path:
    """Writes UTF-8 as `write_bytes` writes; line breaks stay as they are."""
    return write_bytes(text.encode(), path, mode)


def write_bytes(content: bytes, path: Path, mode: int = PRIVATE) -> Path:
    """Writes a draft beside the file, then renames it.

    A link stays a link, and a path under /dev is appended to directly.

    Raises WarehouseError, in one line, if it cannot be written.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(target.name + ".new")
    with writing(path, draft):
        if path.is_relative_to("/dev"):  # standard output, however it is redirected
            with path.open("ab") as stream:
                stream.write(content)
            return path
        draft.unlink(missing_ok=True)
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(opened, "wb") as file:
            file.write(content)
        put_in_place(draft, target)
    return path


def copy_durably(source: Path, target: Path, check: Callable[[Path], None] = lambda _: None) -> None:
    """Copies a file and forces the copy to the disk before it takes its place.

    `check` gets the finished draft and raises an error that keeps it from taking the place.

    Raises WarehouseError if it cannot be written.
    """
    draft = target.with_name(target.name + ".new")
    with writing(target, draft, then="; the last publication stays"):
        with source.open("rb") as reader, open(draft, "wb", opener=_private) as writer:
            shutil.copyfileobj(reader, writer, 16 * 1024 * 1024)
        try:
            check(draft)
        except PromptauditError:
            draft.unlink()
            raise
        put_in_place(draft, target)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


def put_in_place(draft: Path, target: Path) -> None:
    """Forces a finished draft to the disk and renames it into place, so that it survives a power cut."""
    force(draft)
    draft.replace(target)
    force(target.parent)


def force(path: Path) -> None:
    """Forces a file, or a folder's list of names, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_folder(folder: Path) -> None:
    """Makes a folder and its missing parents, private to their owner; raises WarehouseError if it cannot."""
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True)  # fails if a file is in its place
    except OSError as error:
        msg = f"{folder}: cannot be made: {error.strerror}"
        raise WarehouseError(msg) from None


def read_regular(path: Path, most: int) -> bytes:
    """Reads a file that somebody else may have put there.

    Raises BrokenFile for a link, a pipe, a folder, a file without permission to read, and a file of more bytes than
    `most`; FileNotFoundError if there is none.
    """
    try:
        handle = os.open(
            path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )  # a pipe that nobody writes to would be waited for
    except OSError as error:
        if error.errno not in NO_FILE:
            raise
        msg = f"{path}: no regular file that can be read"
        raise BrokenFile(msg) from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            msg = f"{path}: no regular file of at most {most:,} bytes"
            raise BrokenFile(msg)
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read(most)
    finally:
        os.close(handle)


def file_sha256(path: Path) -> str:
    """Hashes a file with sha256, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
