"""What follows from the installed project alone, kept once for every warehouse of a user: to lose it costs seconds."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

from flows.settings import Settings, dbt_project


def kept(name: str) -> Path | None:
    """Where a file of this name is kept for this installation; None where the user has no place for such things."""
    folder = Settings().cache or user_cache_path("promptaudit")
    if not folder.expanduser().is_absolute():
        return None
    return folder.expanduser() / hashlib.sha256(str(dbt_project()).encode()).hexdigest()[:12] / name


def read(name: str) -> bytes | None:
    """What was kept under this name; None where nothing was, or it cannot be read."""
    path = kept(name)
    try:
        return None if path is None else path.read_bytes()
    except OSError:
        return None


def keep(name: str, content: bytes, *, instead_of: str = "") -> None:
    """Keeps a file whole, private to its owner, in the place of all whose names match a pattern; nothing where it cannot."""
    path = kept(name)
    with contextlib.suppress(OSError):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, draft = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                Path(draft).replace(path)
                for older in path.parent.glob(instead_of) if instead_of else ():
                    if older != path:
                        older.unlink(missing_ok=True)
            except OSError:
                Path(draft).unlink(missing_ok=True)
                raise
