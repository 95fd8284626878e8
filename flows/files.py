"""Writes a file whole: a reader sees the old one or the new one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from models_registry.errors import WarehouseError

PRIVATE = 0o600  # its owner's alone
SHARED = 0o666  # as the umask has it


def write_text(text: str, path: Path, mode: int = PRIVATE) -> Path:
    """Writes UTF-8 beside the file, then renames; a link stays one, and what lies under /dev is written to as it is.

    Line breaks stay as they are. Raises WarehouseError, in one line, where it cannot.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(target.name + ".new")
    try:
        if path.is_relative_to("/dev"):  # standard output, however it is redirected
            with path.open("a", encoding="utf-8", newline="") as stream:
                stream.write(text)
            return path
        draft.unlink(missing_ok=True)
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(opened, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        msg = f"{path}: cannot be written: {error.strerror}"
        raise WarehouseError(msg) from None
    return path
