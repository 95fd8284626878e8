"""Reads and copies the files of a registry folder that its own code may import, read or run.

Code runs in a private copy of these files, so that it reaches nothing of the folder that the sha256 does not cover, and
what was compared is what runs.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import NoReturn

from promptaudit.registry.errors import CardError
from promptaudit.registry.read_yaml import read_yaml

MOST_BYTES = 250_000_000  # 0.1 to 0.8 s to read and hash
MOST_FILES = 10_000
CARD_FOLDERS = ("models", "tasks", "templates", "rephrasers", "judges", "audits")
COMPILED = (".pyc", ".pyo")
_FILES = ("path", "gguf", "expectations")  # fields that name a file which is no code


def folder_sha256(root: Path, named: Collection[Path] = (), copy: Path | None = None) -> str:
    """Computes the sha256 of the files of a registry folder that its code may use.

    It covers their names, their contents and whether they run. Left out are cards, the data that cards name, what
    Python compiled, the folder `warehouse`, virtual environments and names that begin with a dot, unless they are among
    the files `named`. A link to a file of the folder counts as that file.

    Args:
        root: the registry folder.
        named: files of the folder that are never left out.
        copy: an empty folder that the files are copied to, as they were hashed.

    Raises:
        CardError: a link leaves the folder or leads to a folder, or there are over 250 MB or 10,000 files.
        OSError: a file cannot be read.
    """
    top, digest, n_bytes = root.resolve(), hashlib.sha256(), 0
    for name, path in sorted(_files(top, {each.resolve() for each in named}).items()):
        content, is_program = _read(path, MOST_BYTES - n_bytes)
        n_bytes += len(content)
        if n_bytes > MOST_BYTES:
            _refuse_size()
        digest.update(f"{hashlib.sha256(content).hexdigest()} {is_program:d} ".encode() + os.fsencode(name) + b"\0")
        if copy is not None:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(content)
            (copy / name).chmod(0o700 if is_program else 0o600)
    return digest.hexdigest()


def _files(top: Path, named: set[Path]) -> dict[str, Path]:
    # by their names in the folder; links are followed
    not_code = _data(top) - named
    files = {path.relative_to(top).as_posix(): path for path in named if path.is_relative_to(top)}
    for folder, folders, names in os.walk(top):
        here = Path(folder)
        folders[:] = [name for name in folders if _is_code(here / name, top)]
        for path in (here / name for name in folders):
            if path.is_symlink():
                _refuse_link(path, top)
        for path in (here / name for name in names):
            if not _is_code(path, top):
                continue
            real = path.resolve() if path.is_symlink() else path
            if not real.is_relative_to(top):
                _refuse_link(path, top)
            if real.is_file() and real not in not_code:
                files[path.relative_to(top).as_posix()] = real
        if len(files) > MOST_FILES:
            _refuse_size()
    return files


def _is_code(path: Path, top: Path) -> bool:
    if path.name.startswith(".") or path.name == "__pycache__" or path.suffix in COMPILED or path == top / "warehouse":
        return False
    is_card = path.suffix in (".yml", ".yaml") and path.relative_to(top).parts[0] in CARD_FOLDERS
    return not is_card and not (path / "pyvenv.cfg").exists()


def _refuse_size() -> NoReturn:
    msg = (
        f"the registry folder has over {MOST_BYTES:,} bytes or {MOST_FILES:,} files beside its cards and their data, too many to "
        "look at for code; move what its code does not need elsewhere"
    )
    raise CardError(msg)


def _refuse_link(path: Path, top: Path) -> NoReturn:
    name = path.relative_to(top)
    msg = f"'{name}' is a link that leaves the registry or leads to a folder; put what it leads to in its place"
    raise CardError(msg)


def _data(top: Path) -> set[Path]:
    found = set()
    for path in chain.from_iterable(top.glob(f"{kind}/**/*.y*ml") for kind in ("models", "tasks", "audits")):
        for named in _named_in(path):
            found.add((top / named).resolve())
    return found


def _named_in(path: Path) -> Iterator[str]:
    try:
        cards, *_ = read_yaml(path, path.name)
    except CardError:  # loading the cards reports it
        return
    for card in cards.values():
        fields = card if isinstance(card, dict) else {}
        parts = (fields, fields.get("data"), fields.get("format"))
        for named in (part.get(name) for part in parts if isinstance(part, dict) for name in _FILES):
            if isinstance(named, str) and "\0" not in named:
                yield named


def _read(path: Path, most: int) -> tuple[bytes, bool]:
    # reads at most one byte more than `most`; the flag says whether the file's owner may run it
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):  # put there since its name was listed
            raise OSError(0, "is no regular file", str(path))
        return file.read(most + 1), bool(mode & stat.S_IXUSR)
