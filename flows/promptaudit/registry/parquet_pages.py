"""Reads the sizes in the headers of a Parquet file's pages. Readers follow the pages, and the footer may say anything.

A header is a struct in Thrift's compact protocol, right before its page. Two of its fields are read, the second and the
third: the bytes of the page when unpacked, and in the file.
"""

from __future__ import annotations

from collections.abc import Iterator

_HEADER = 1 << 16  # bytes that are read for one
_FALSE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 2, 7, 8, 9, 10, 11, 12
_MOST = 1000  # fields, items and structs in one header


def unpacked_sizes(content: memoryview, start: int, end: int) -> Iterator[int]:
    """Yields the unpacked size of each page between two places; raises ValueError if a header is broken."""
    while 0 <= start < end:
        header = _Header(bytes(content[start : min(start + _HEADER, len(content))]))
        try:
            sizes = header.struct()
        except IndexError:
            msg = "a page has no header"
            raise ValueError(msg) from None
        unpacked, packed = sizes.get(2, -1), sizes.get(3, -1)
        if unpacked < 0 or packed < 0:
            msg = "a page has no size"
            raise ValueError(msg)
        yield unpacked
        start += header.place + packed


class _Header:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0
        self._left = _MOST

    def struct(self) -> dict[int, int]:
        # the whole numbers of a struct by the ids of their fields; everything else is skipped
        numbers: dict[int, int] = {}
        name = 0
        while byte := self._byte():
            self._count()
            kind = byte & 15
            name = name + (byte >> 4) if byte >> 4 else self._number()
            value = self._value(kind, in_struct=True)
            if value is not None:
                numbers[name] = value
        return numbers

    def _value(self, kind: int, *, in_struct: bool) -> int | None:
        self._count()
        if kind <= _FALSE:
            self.place += 0 if in_struct else 1
        elif kind == _FALSE + 1:
            self.place += 1
        elif kind < _DOUBLE:
            return self._number()
        elif kind == _DOUBLE:
            self.place += 8
        elif kind == _BINARY:
            length = self._varint()
            self.place += length
        elif kind == _STRUCT:
            self.struct()
        elif kind in (_LIST, _SET):
            byte = self._byte()
            for _ in range(byte >> 4 if byte >> 4 < 15 else self._varint()):  # noqa: PLR2004 - all that four bits hold
                self._value(byte & 15, in_struct=False)
        else:
            msg = "a page's header has a field of an unknown kind"
            raise ValueError(msg)
        return None

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number, shift = number | (byte & 127) << shift, shift + 7
        return number | byte << shift

    def _number(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            msg = "a page's header has no end"
            raise ValueError(msg)
