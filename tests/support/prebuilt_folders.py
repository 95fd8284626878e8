"""Folders that take long to build and that many tests begin from: built once for all workers, and kept for hours.

A test gets a copy, which it may change.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".pytest_cache" / "shapes"
CODE = ("flows", "models_registry", "dbt")
COMPILED = {"__pycache__", "target", "logs"}
LONGEST_S = 12 * 3600  # a report says how old its run is


@functools.cache
def _code() -> str:
    """A sha256 of what shapes are built by: the code, the libraries' versions and the helpers of tests."""
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    code = [path for folder in CODE for path in (ROOT / folder).rglob("*") if not COMPILED & set(path.parts)]
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted([*code, *helpers, ROOT / "infra" / "locks" / "dev.txt"]):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process at a time holds a name."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shape(name: str, build: Callable[[Path], Any], to: Path) -> Any:
    """Fills the empty folder `to` as `build` would, and gives what it returned, by way of JSON.

    What `build` writes may name no place but by the folder it is given, and what it returns must be of JSON.
    """
    with _alone(name):
        kept = KEPT / f"{name}-{_code()}"
        if not kept.exists() or time.time() - kept.stat().st_mtime > LONGEST_S:
            for older in KEPT.glob(f"{name}-*"):
                shutil.rmtree(older)
            draft = Path(tempfile.mkdtemp(prefix=f"{name}-draft-", dir=KEPT))
            try:
                (draft / "folder").mkdir()
                (draft / "returned.json").write_text(json.dumps(build(draft / "folder")), encoding="utf-8")
                draft.rename(kept)
            except BaseException:
                shutil.rmtree(draft)
                raise
        shutil.copytree(kept / "folder", to, dirs_exist_ok=True)
        return json.loads((kept / "returned.json").read_text(encoding="utf-8"))
