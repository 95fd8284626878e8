"""Shares a folder between several processes, here or in an object store.

Whole files are written, read, listed and removed.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Protocol

from promptaudit.registry.errors import BrokenFile, UsageError, WarehouseError
from promptaudit.registry.extras import needs_extra
from promptaudit.system.files import PRIVATE, private_folder, put_in_place, read_regular, writing

ASIDE = ".aside"
"""The ending of the folder, beside a shared one, that files are moved to when they are set aside."""
MOST_BYTES = 250_000_000  # of a file; a segment has some 32 MB


class SharedFolder(Protocol):
    """A folder whose files appear whole; names are relative to it, with `/` between their parts."""

    poll_s: float
    """How many seconds to wait between two looks."""

    def names(self) -> list[str]:
        """Lists the names of all files, in order, without names that are not UTF-8: none of ours is."""

    def size(self, name: str) -> int:
        """Gives the bytes of a file; 0 if it does not exist."""

    def read(self, name: str) -> bytes | None:
        """Reads a file; None if it does not exist.

        Raises BrokenFile for anything but a regular file, and for a file of over 250 MB.
        """

    def write(self, name: str, content: bytes) -> None:
        """Writes a file; readers find the old content or the new. Raises WarehouseError if that fails."""

    def take(self, path: Path, name: str) -> None:
        """Moves a file of this machine into the folder under a name; raises WarehouseError if that fails."""

    def remove(self, name: str) -> None:
        """Removes a file if it exists."""

    def sweep(self) -> None:
        """Removes the drafts that killed writers left. Only while nobody writes."""

    def set_aside(self, name: str) -> str:
        """Moves a file to a folder beside this one; returns the new place. Raises WarehouseError if that fails."""

    def spool(self, name: str) -> Path | None:
        """Gives the best place to write files that `take` will move to `name`; None: anywhere."""

    def under(self, name: str) -> SharedFolder:
        """Opens a folder inside of this one."""


def shared_folder(address: str | Path) -> SharedFolder:
    """Opens the folder of a path, or of an address such as `s3://bucket/prefix`.

    Raises UsageError for an address whose kind of store is not installed.
    """
    if isinstance(address, Path) or "://" not in address:
        return _LocalFolder(Path(address))
    return _ObjectStore(address)


class _LocalFolder:
    poll_s = 0.1

    def __init__(self, root: Path, top: Path | None = None) -> None:
        self._root, self._top = root, top or root

    def names(self) -> list[str]:
        names = (
            f"{Path(folder).relative_to(self._root).as_posix()}/{file}".removeprefix("./")
            for folder, _, files in os.walk(self._root)
            for file in files
            if not file.endswith(".new")
        )
        return sorted(filter(_is_text, names))

    def size(self, name: str) -> int:
        with contextlib.suppress(OSError):
            return (self._root / name).lstat().st_size
        return 0

    def read(self, name: str) -> bytes | None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return read_regular(self._root / name, MOST_BYTES)
        return None

    def write(self, name: str, content: bytes) -> None:
        path = self._root / name
        draft = path.with_name(f"{path.name}.{os.getpid()}.new")
        with writing(path, draft):
            private_folder(path.parent)
            draft.unlink(missing_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            put_in_place(draft, path)

    def take(self, path: Path, name: str) -> None:
        target = self._root / name
        with writing(target, then=f"; {path} keeps what it holds"):
            private_folder(target.parent)
            put_in_place(path, target)

    def remove(self, name: str) -> None:
        path = self._root / name
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):  # others are in them
            for folder in path.parents:
                folder.rmdir()
                if folder == self._top:
                    break

    def sweep(self) -> None:
        for draft in list(self._root.rglob("*.new")):  # its folders go with the last
            self.remove(draft.relative_to(self._root).as_posix())

    def set_aside(self, name: str) -> str:
        path = self._root / name
        aside = self._top.with_name(f"{self._top.name}{ASIDE}") / path.relative_to(self._top)
        private_folder(aside.parent)
        number, target = 1, aside
        while os.path.lexists(target):
            number, target = number + 1, aside.with_name(f"{aside.name}.{number + 1}")
        try:
            path.rename(target)
        except OSError as error:
            msg = f"{path}: cannot be moved to {target}: {error.strerror}"
            raise WarehouseError(msg) from None
        self.remove(name)  # the folders that it was the last in
        return str(target)

    def spool(self, name: str) -> Path | None:
        return self._root / name

    def under(self, name: str) -> SharedFolder:
        return _LocalFolder(self._root / name, self._top)


class _ObjectStore:
    poll_s = 1.0

    def __init__(self, address: str, store: Any = None, top: str | None = None) -> None:  # noqa: ANN401 - fsspec has no types
        self._address = address.rstrip("/")
        self._top = top or self._address
        self._store = store or _store_of(address)
        self._path = self._store._strip_protocol(self._address)  # noqa: SLF001 - fsspec's own way to a path

    def names(self) -> list[str]:
        with _stored(self._address):
            paths = self._store.find(self._path)
        return sorted(path.removeprefix(self._path).lstrip("/") for path in paths)

    def size(self, name: str) -> int:
        with _stored(self._address), contextlib.suppress(FileNotFoundError):
            return int(self._store.size(f"{self._path}/{name}") or 0)
        return 0

    def read(self, name: str) -> bytes | None:
        if self.size(name) > MOST_BYTES:
            msg = f"{self._address}/{name}: no file of at most {MOST_BYTES:,} bytes"
            raise BrokenFile(msg)
        with _stored(self._address), contextlib.suppress(FileNotFoundError):
            content: bytes = self._store.cat_file(f"{self._path}/{name}")
            return content
        return None

    def write(self, name: str, content: bytes) -> None:
        with _stored(self._address):
            self._store.pipe_file(f"{self._path}/{name}", content)

    def take(self, path: Path, name: str) -> None:
        with _stored(self._address):
            self._store.put_file(str(path), f"{self._path}/{name}")
        path.unlink()

    def remove(self, name: str) -> None:
        with _stored(self._address), contextlib.suppress(FileNotFoundError):
            self._store.rm_file(f"{self._path}/{name}")

    def sweep(self) -> None:
        pass  # a store has no drafts

    def set_aside(self, name: str) -> str:
        below = f"{self._address}/{name}".removeprefix(self._top)
        aside = f"{self._top}{ASIDE}{below}"
        with _stored(self._address):
            self._store.mv(f"{self._path}/{name}", self._store._strip_protocol(aside))  # noqa: SLF001 - as above
        return aside

    def spool(self, name: str) -> Path | None:
        del name
        return None

    def under(self, name: str) -> SharedFolder:
        return _ObjectStore(f"{self._address}/{name}", self._store, self._top)


def _is_text(name: str) -> bool:
    # names with bytes that are no UTF-8 fit into no message and no query
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _store_of(address: str) -> Any:  # noqa: ANN401 - fsspec has no types
    import fsspec

    kind = address.partition("://")[0]
    try:
        return fsspec.filesystem(kind, use_listings_cache=False, skip_instance_cache=True)
    except (ImportError, ValueError):
        msg = f"no store of kind {kind!r} is installed; {needs_extra('s3://', 's3')}"
        raise UsageError(msg) from None


@contextlib.contextmanager
def _stored(address: str) -> Any:  # noqa: ANN401 - a context manager of nothing
    # errors of a store become one line that names their kind, since their words may hold credentials
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a store's client raises
        msg = f"{address}: the object store does not answer: {type(error).__name__}"
        raise WarehouseError(msg) from None
