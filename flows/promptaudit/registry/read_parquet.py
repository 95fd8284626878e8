"""Reads Parquet files from any source. It counts values, pages and texts before it unpacks any of them."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from promptaudit.registry.errors import DataError
from promptaudit.registry.parquet_pages import unpacked_sizes
from promptaudit.registry.read_csv import refuse_columns

if TYPE_CHECKING:
    import pyarrow as pa

MAX_VALUES = 20_000_000  # beyond VALUES_A_BYTE of the file; reading one takes up to 40 bytes
VALUES_A_BYTE = 4  # of short labels and ids in order
MAX_UNPACKED = 1 << 28  # bytes of pages, and of texts, beyond `TIMES` for each byte of the file
TIMES = 100  # a column of one repeated prompt packs so well in files of ours
_A_PAGE = 100  # bytes that each page counts for, however small it is
_TEXT = "BYTE_ARRAY"


def parquet_frame(path: Path, shown: str) -> pl.DataFrame:
    """Reads the columns of a Parquet file in their types.

    Raises DataError in one line for a file that is none or too costly.
    """
    import pyarrow as pa

    try:
        _refuse_costly(path, shown)
        return pl.read_parquet(path)
    except (OSError, ValueError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        msg = f"{shown}: not readable as PARQUET: {(str(error).splitlines() or [''])[0][:200]}"
        raise DataError(msg) from None


def _refuse_costly(path: Path, shown: str) -> None:
    # raises DataError for more columns, values, pages or texts than a file of its size may have
    import pyarrow.parquet as pq

    n_bytes = path.stat().st_size
    about = pq.read_metadata(path)
    refuse_columns(about.num_columns, path, shown)
    groups = [about.row_group(n) for n in range(about.num_row_groups)]
    chunks = [group.column(n) for group in groups for n in range(group.num_columns)]
    n_values = max(about.num_rows * about.num_columns, sum(max(chunk.num_values, 0) for chunk in chunks))
    _refuse(n_values, MAX_VALUES + VALUES_A_BYTE * n_bytes, "values", shown, n_bytes)
    limit = MAX_UNPACKED + TIMES * n_bytes
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        view = memoryview(content)
        try:
            unpacked = 0
            for chunk in chunks:
                start = (chunk.dictionary_page_offset if chunk.has_dictionary_page else None) or chunk.data_page_offset
                for size in unpacked_sizes(view, start, start + chunk.total_compressed_size):
                    unpacked += size + _A_PAGE
                    _refuse(unpacked, limit, "bytes when unpacked", shown, n_bytes)
        finally:
            view.release()
    texts = {chunk.path_in_schema for chunk in chunks if chunk.physical_type == _TEXT}
    # a text that stands in many rows is stored once in the file, and is read once here
    with pq.ParquetFile(path, read_dictionary=sorted(texts)) as parquet:
        n_texts = 0
        for number in range(about.num_row_groups):
            for name in texts:
                group = parquet.read_row_group(number, columns=[name], use_threads=False)
                n_texts += sum(_n_bytes(chunk) for column in group.columns for chunk in column.chunks)
                _refuse(n_texts, limit, "bytes of texts", shown, n_bytes)


def _n_bytes(values: pa.Array[Any]) -> int:
    # texts inside of lists and structs count too, and equal texts count each time
    return sum(_n_bytes_of_texts(each) for each in _leaves(values))


def _leaves(values: Any) -> Iterator[Any]:  # noqa: ANN401 - arrays of many classes
    import pyarrow as pa

    if pa.types.is_struct(values.type):
        for each in values.flatten():
            yield from _leaves(each)
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type) or pa.types.is_map(values.type):
        yield from _leaves(values.values)
    else:
        yield values


def _n_bytes_of_texts(values: Any) -> int:  # noqa: ANN401
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        lengths = pc.binary_length(values.dictionary).take(values.indices)
    elif pa.types.is_string(values.type) or pa.types.is_binary(values.type) or pa.types.is_large_string(values.type):
        lengths = pc.binary_length(values)
    else:
        return 0
    return int(pc.sum(lengths.cast(pa.int64())).as_py() or 0)


def _refuse(n: int, limit: int, what: str, shown: str, n_bytes: int) -> None:
    if n > limit:
        msg = f"{shown}: {n:,} {what} in a file of {n_bytes:,} bytes, at most {limit:,} are read; split it"
        raise DataError(msg)
