"""Scaffolds a folder of a user's own cards from the starter that ships."""

from __future__ import annotations

import shutil
from pathlib import Path

from models_registry.errors import UsageError
from models_registry.registry import SHIPPED, load_registry

STARTER = SHIPPED / "starter"


def scaffold(folder: Path) -> list[Path]:
    """Copies the starter cards into `folder` and returns what was written; refuses a folder that holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = f"{folder} is there already and not empty; name another folder"
        raise UsageError(msg)
    written = []
    try:
        for source in sorted(path for path in STARTER.rglob("*") if path.is_file()):
            target = folder / source.relative_to(STARTER)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            written.append(target)
    except OSError as error:
        msg = f"{folder}: cannot be written: {error.strerror}"
        raise UsageError(msg) from None
    load_registry([folder])
    return written
