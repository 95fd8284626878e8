"""Scaffolds a folder of a user's own cards from the starter that ships."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from models_registry.card_schemas import file_schema
from models_registry.errors import UsageError
from models_registry.registry import KINDS, SHIPPED, load_registry

STARTER = SHIPPED / "starter"


def scaffold(folder: Path) -> list[Path]:
    """Copies the starter cards into `folder`, and beside them the schemas of card files that they name for editors.

    Returns what was written. Refuses a folder that holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = f"{folder} is there already and not empty; name another folder"
        raise UsageError(msg)
    try:
        written = [*_copied_cards(folder), *_written_schemas(folder / "schemas")]
    except OSError as error:
        msg = f"{folder}: cannot be written: {error.strerror}"
        raise UsageError(msg) from None
    load_registry([folder])
    return written


def _copied_cards(folder: Path) -> Iterator[Path]:
    for source in sorted(path for path in STARTER.rglob("*") if path.is_file()):
        target = folder / source.relative_to(STARTER)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        yield target


def _written_schemas(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    for kind in KINDS:
        target = folder / f"{kind}.json"
        target.write_text(json.dumps(file_schema(kind), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        yield target
