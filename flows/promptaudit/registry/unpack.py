"""Unpacks a file that gzip or Zstandard packed, up to a size, for as long as it is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from promptaudit.registry.errors import DataError, PromptauditError

MAX_FILE = 1 << 30  # bytes of any file of rows
MAX_UNPACKED = 1 << 28  # bytes beyond a hundred for each byte of the packed file
TIMES_UNPACKED = 100
METHODS: Mapping[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}
_CHUNK = 1 << 20


def ending_of(path: Path) -> str:
    """Gives the ending of a file's name in lower case, `.csv` or `.csv.gz`."""
    packed = path.suffix if path.suffix.lower() in METHODS else ""
    return f"{Path(path.name.removesuffix(packed)).suffix}{packed}".lower()


def stem_of(path: Path) -> str:
    """Gives a file's name without its ending."""
    return path.name[: len(path.name) - len(ending_of(path))]


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yields the file, or a private unpacked copy, which is deleted afterwards.

    Errors about the copy name the file itself.

    Raises DataError in one line for a file that is cut off or broken, or that holds more than a file of its size may.
    """
    method = METHODS.get(path.suffix.lower())
    if method is None or "\x00" in str(path) or not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="promptaudit-unpacked-") as folder:
        plain = Path(
            folder, path.resolve().parent.name, path.stem
        )  # a format may call its task as the folder is called
        plain.parent.mkdir(exist_ok=True)
        _unpack(path, plain, method)
        try:
            yield plain
        except PromptauditError as error:
            error.args = tuple(renamed(str(each), plain, path) for each in error.args)
            raise


def renamed(text: str, plain: Path, path: Path) -> str:
    """Rewrites a message about an unpacked copy so that it names the file itself."""
    return text.replace(" ".join(str(plain).split()), " ".join(str(path).split()))


def _unpack(path: Path, plain: Path, method: Literal["gzip", "zstd"]) -> None:
    import pyarrow as pa  # which most commands need for nothing

    try:
        limit = min(MAX_FILE, MAX_UNPACKED + TIMES_UNPACKED * path.stat().st_size)
        n_bytes = 0
        with path.open("rb") as file, pa.CompressedInputStream(file, method) as stream, plain.open("xb") as out:
            while n_bytes <= limit and (part := stream.read(_CHUNK)):
                n_bytes += out.write(part)
    except PermissionError as error:
        msg = f"{path}: cannot be read: {error.strerror or error}"
        raise DataError(msg) from None
    except OSError as error:
        what = error.strerror or f"it is cut off, or not packed by {method}"
        msg = f"{path}: cannot be unpacked: {what}"
        raise DataError(msg) from None
    if n_bytes > limit:
        msg = f"{path}: more than {limit:,} bytes when unpacked; split it"
        raise DataError(msg)
