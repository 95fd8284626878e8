"""Reads JSON files from any source. It estimates how much memory a text would take before it parses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptaudit.registry.errors import DataError

MAX_LINE = 1 << 26  # bytes of a line of JSONL
MADE = 600 << 20  # bytes that any text may become
TIMES = 12  # bytes that each byte of a file may become beyond that: honest logs take 4 to 10
MARK = b"\xef\xbb\xbf"
_AT_WORST = 36  # bytes that a byte becomes, of {"a":{"a":…
_A_VALUE = 64  # bytes of an object, a list or a key, the mean of what `[{"a":1},{"a":1}]` takes
_SIGNS = (b",", b":", b"[", b"{")
_CHUNK = 1 << 20


def json_of(
    text: bytes, shown: str, *, made: int = MADE, n_packed: int = 0, as_written: bool = False, keys_once: bool = False
) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Parses a JSON text in UTF-8, or in UTF-16 or UTF-32 if it says so.

    Lone surrogates in keys are escaped, since no column can have such a name; in values they stay. `n_packed` is the
    number of bytes that the text takes in its file, if that may be a large file of its own. `as_written` leaves numbers
    text; it and `keys_once` refuse a key that stands twice. Raises DataError naming `shown` for text that is no JSON,
    nested too deep, or of more values than `made` bytes hold.
    """
    refuse_costly(text, shown, made, n_packed)
    may_be_halved = b"\\ud" in text or b"\\uD" in text or b"\xed" in text
    number = str if as_written else None
    hook = _without_doubles if as_written or keys_once else _with_whole_keys if may_be_halved else None
    try:
        decoded = text.decode(json.detect_encoding(text), "surrogatepass")
        del text  # of a large file this is the half of what it takes
        return json.loads(decoded, object_pairs_hook=hook, parse_int=number, parse_float=number, parse_constant=number)
    except RecursionError:
        msg = f"{shown}: JSON nested too deep to be read"
    except (ValueError, UnicodeDecodeError) as error:
        msg = f"{shown}: not JSON: {str(error)[:200]}"
    raise DataError(msg)


def lines_of(path: Path, shown: str, place: str = "line") -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of every line that is not blank, without a byte order mark.

    Raises DataError for a line of more than `MAX_LINE` bytes.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                msg = f"{shown} {place} {number}: more than {MAX_LINE:,} bytes in one line"
                raise DataError(msg)
            if line.strip():
                yield number, line.removeprefix(MARK) if number == 1 else line


def escape(text: str) -> tuple[str, bool]:
    r"""Writes lone surrogates, which UTF-8 cannot hold, as \udXXX, and says whether there were any."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode(), True
    return text, False


def _with_whole_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key if key.isascii() else escape(key)[0]: value for key, value in pairs}


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = _with_whole_keys(pairs)
    if len(row) != len(pairs):
        msg = "a key stands twice"
        raise ValueError(msg)
    return row


def refuse_costly(text: bytes, shown: str, made: int = MADE, n_packed: int = 0) -> None:
    """Raises DataError for a JSON text whose values would take more memory than allowed.

    Allowed are `made` bytes, and TIMES bytes for each of the `n_packed` bytes that the text takes in its file.
    """
    if len(text) <= made // _AT_WORST:
        return
    may_take = made + TIMES * n_packed
    # the text as it is, decoded, and as values; characters beyond the first 65,536 take four bytes
    n_text = len(text) * (3 if text.isascii() else 9)
    most = (may_take - n_text) // _A_VALUE
    if sum(text.count(sign) for sign in _SIGNS) <= most:
        return
    n_values = _n_values(text, most)
    if n_values > most:
        msg = (
            f"{shown}: more than {n_values:,} values in {len(text):,} bytes would take more than the {may_take / 1e9:.1f} GB of "
            "memory that they may; split it, or write its rows as JSONL, one a line"
        )
        raise DataError(msg)


def _n_values(text: bytes, most: int) -> int:
    # counts signs of values outside of strings; stops beyond `most`
    n, within, rest = 0, 0, b""
    for start in range(0, len(text), _CHUNK):
        piece = rest + text[start : start + _CHUNK]
        n_slashes = len(piece) - len(piece.rstrip(b"\\"))
        rest = b"\\" * (n_slashes % 2)
        piece = piece[: len(piece) - len(rest)].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"')
        bare = b"".join(parts[within::2])
        n += sum(bare.count(sign) for sign in _SIGNS)
        within = (within + len(parts) - 1) % 2
        if n > most:
            break
    return n
