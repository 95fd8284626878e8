"""Reads the files of other programs within limits of size and depth and never extracts one to disk.

What is broken raises DataError in one line.
"""

from __future__ import annotations

import json
import mmap
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from promptaudit.registry.errors import DataError
from promptaudit.registry.read_json import MARK, json_of, lines_of
from promptaudit.registry.unpack import MAX_FILE, MAX_UNPACKED, TIMES_UNPACKED

MAX_MEMBER = 1 << 28  # bytes of one unpacked member of a zip
MAX_MEMBERS = 200_000
MAX_BESIDE = 1 << 26  # bytes of a file that is read beside the one that was named
HEAD = 1 << 16
MADE_OF_A_LINE = 100 << 20  # bytes that the first line may become, each time that it is looked at
MAX_LINE = 1 << 24  # bytes of the first line, by which rows are recognised
MAX_FIRST = 1 << 20  # bytes of a list in which its first row is looked for
_ZSTD = 93
_MEMBER = b"PK\x01\x02"  # what its entry in the directory begins with
_CHUNK = 1 << 20


def head_of(path: Path) -> bytes:
    """Reads a file's first bytes, at least its first line, without a byte order mark. Raises DataError if unreadable.

    From a JSON list it reads as much as the first row may have, on however many lines.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_LINE).removeprefix(MARK)
            wanted = MAX_FIRST if line.lstrip().startswith(b"[") else HEAD
            return line + file.read(max(0, wanted - len(line)))
    except FileNotFoundError:
        msg = f"{path}: no such file"
        raise DataError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror or error}"
        raise DataError(msg) from None


def json_file(path: Path, limit: int = MAX_FILE) -> Any:  # noqa: ANN401
    """Reads the value of a JSON file of at most `limit` bytes."""
    _refuse_larger(path, limit)
    return json_of(path.read_bytes(), str(path), n_packed=path.stat().st_size)


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the number and the object of every line that is not blank."""
    _refuse_larger(path, MAX_FILE)
    for number, line in lines_of(path, str(path), "row"):
        row = json_of(line, f"{path} row {number}")
        if not isinstance(row, dict):
            msg = f"{path} row {number}: an object is wanted, found {type(row).__name__}"
            raise DataError(msg)
        yield number, row


def first_row(head: bytes) -> dict[str, Any]:
    """Parses the object in the first line, or the first of a JSON list. Empty where none is there as a whole."""
    head = head.lstrip()
    try:
        if head.startswith(b"["):
            row, _ = json.JSONDecoder().raw_decode(head[1:MAX_FIRST].decode(errors="replace").lstrip())
        else:
            row = json_of(head.split(b"\n", 1)[0], "", made=MADE_OF_A_LINE)
    except (DataError, ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def holds_all(path: Path, patterns: Sequence[bytes]) -> bool:
    """Checks that each regular expression is found in a file of at most MAX_FILE, which is not read into memory."""
    if path.stat().st_size > MAX_FILE:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return all(re.search(pattern, content) for pattern in patterns)


def _refuse_larger(path: Path, limit: int) -> None:
    size = path.stat().st_size
    if size > limit:
        msg = f"{path}: {size:,} bytes, at most {limit:,} are read; split it"
        raise DataError(msg)


class ZipMembers:
    """Members of a zip file, unpacked in memory up to a size. Zstandard is read too, which zipfile does not know."""

    def __init__(self, path: Path) -> None:
        _refuse_larger(path, MAX_FILE)
        self.path = path
        self.n_unpacked = 0
        try:
            self._size = path.stat().st_size
            self._refuse_many()
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            msg = f"{path}: not a readable zip: {str(error)[:200]}"
            raise DataError(msg) from None
        self._folders: dict[str, list[str]] = {}
        self._members = {member.filename: member for member in members}  # the last of a name counts, as in every reader
        for name in self._members:
            self._folders.setdefault(name.rpartition("/")[0] + "/", []).append(name)

    def _refuse_many(self) -> None:
        # before zipfile makes the directory of the entries
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            n_members = place = 0
            while (place := content.find(_MEMBER, place)) >= 0:
                n_members, place = n_members + 1, place + len(_MEMBER)
                if n_members > MAX_MEMBERS:
                    msg = f"{self.path}: more than {MAX_MEMBERS:,} members, which are not read"
                    raise DataError(msg)

    @property
    def names(self) -> list[str]:
        """Lists the names of the members in the order of the directory."""
        return list(self._members)

    def under(self, folder: str) -> list[str]:
        """Lists the names of the members in a folder, whose name ends with a slash."""
        return self._folders.get(folder, [])

    def json(self, name: str) -> Any:  # noqa: ANN401
        """Reads the JSON value of a member. Raises DataError naming the file and the member."""
        n_packed = min(self._members[name].compress_size, self._size)
        return json_of(self._bytes(name), f"{self.path} {name[:200]}", n_packed=n_packed)

    def _bytes(self, name: str) -> bytes:
        member = self._members[name]
        shown = f"{self.path} {name[:200]}"
        if member.flag_bits & 1:
            msg = f"{shown}: it is encrypted"
            raise DataError(msg)
        try:
            with self.path.open("rb") as file:
                file.seek(member.header_offset + 26)
                lengths = file.read(4)
                n_name, n_extra = struct.unpack("<HH", lengths)
                file.seek(n_name + n_extra, 1)
                packed = file.read(min(member.compress_size, MAX_FILE))
            content = self._unpacked(packed, member.compress_type, shown)
        except (OSError, ValueError, zlib.error, struct.error) as error:
            msg = f"{shown}: cannot be unpacked: {str(error)[:200]}"
            raise DataError(msg) from None
        if zlib.crc32(content) != member.CRC:
            msg = f"{shown}: its bytes are not those that were packed"
            raise DataError(msg)
        return content

    def _unpacked(self, packed: bytes, method: int, shown: str) -> bytes:
        limit = min(MAX_MEMBER, MAX_UNPACKED + TIMES_UNPACKED * self._size - self.n_unpacked)
        if method == zipfile.ZIP_STORED:
            content = packed[: limit + 1]
        elif method == zipfile.ZIP_DEFLATED:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit + 1)
        elif method == _ZSTD:
            content = _zstd(packed, limit)
        else:
            msg = f"{shown}: packed by method {method}, which is not read"
            raise DataError(msg)
        if len(content) > limit:
            msg = f"{shown}: more than {limit:,} bytes when unpacked"
            raise DataError(msg)
        self.n_unpacked += len(content)
        return content


def _zstd(packed: bytes, limit: int) -> bytes:
    # reads several frames too, and one byte more than the limit, which shows that there is more
    import pyarrow as pa  # its errors are kinds of OSError and ValueError

    parts, n_bytes = [], 0
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        while n_bytes <= limit and (part := stream.read(_CHUNK)):
            parts.append(part)
            n_bytes += len(part)
    return b"".join(parts)[: limit + 1]
