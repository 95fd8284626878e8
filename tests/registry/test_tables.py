"""Tables of anybody's are read whatever separates their fields, and counted before they are made."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.registry import read_json
from promptaudit.registry.errors import DataError
from promptaudit.registry.parquet_pages import unpacked_sizes
from promptaudit.registry.read_json import json_of
from promptaudit.registry.tables import read_text_table


# ---------------------------------------------------------------- separators
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("sign", "suffix"), [(";", "csv"), ("\t", "csv"), ("\t", "tsv"), ("|", "csv"), (",", "csv")])
def test_fields_are_separated_by_what_parts_header_and_rows_alike(
    tmp_path: Path, sign: str, suffix: str, encoding: str
) -> None:
    text = "\n".join(
        [f"id{sign}text{sign}label", f'1{sign}"a{sign} b, c;d"{sign}gut', f"2{sign}Nein{sign}schlecht", ""]
    )
    path = tmp_path / f"a.{suffix}"
    path.write_text(text, encoding=encoding)
    rows = [{"id": "1", "text": f"a{sign} b, c;d", "label": "gut"}, {"id": "2", "text": "Nein", "label": "schlecht"}]
    assert read_text_table(path).to_dicts() == rows


def test_a_comma_in_each_row_does_not_part_what_semicolons_part(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;text, kurz;label\n1;Ja, gut;a\n2;Nein, nie;b\n")
    assert read_text_table(tmp_path / "a.csv").columns == ["id", "text, kurz", "label"]


def test_the_separator_that_a_spreadsheet_names_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\r\nid;text\r\n1;a, b\r\n")
    assert read_text_table(tmp_path / "a.csv").to_dicts() == [{"id": "1", "text": "a, b"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id;text;label\n1;a\n", r"a\.csv row 1: 2 fields, the header has 3"),
        (
            b"Results,May\nid,text,label\n1,b,c\n",
            r"a\.csv line 1 is no header; where line 2 names them \(id, text, label\)",
        ),
        (b"id,text\na,well, no\nb,no\n", r"a\.csv row 1: 3 fields, the header has 2"),
        (b"id,text\na,well, no\n", r"a\.csv row 1: 3 fields, the header has 2"),
        ("id;text\n1;schön\n".encode("latin-1"), r"a\.csv: not readable as CSV: .*; save it as UTF-8"),
        ("id\ttext\n1\tx\n".encode("utf-16-le"), r"a\.csv line 1: NUL bytes in the header"),
    ],
)
def test_what_is_not_read_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_text_table(tmp_path / "a.csv")


# ---------------------------------------------------------------- counts
_TEXTS = st.recursive(
    st.one_of(st.none(), st.integers(0, 9), st.text('ab\\"[]{},:é\n')),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('k"\\,:', max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(value=_TEXTS, chunk=st.integers(1, 9))
def test_values_are_counted_outside_of_strings_wherever_a_chunk_ends(value: object, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_json, "_CHUNK", chunk)
        counted = read_json._n_values(json.dumps(value).encode(), 10**9)
    assert counted == _n_signs(value)


def _n_signs(value: object) -> int:
    if isinstance(value, dict):
        return 1 + len(value) + max(0, len(value) - 1) + sum(map(_n_signs, value.values()))
    return 1 + max(0, len(value) - 1) + sum(map(_n_signs, value)) if isinstance(value, list) else 0


def test_a_text_of_many_signs_in_its_strings_is_read_and_one_of_as_many_values_is_not() -> None:
    strings, values = json.dumps([",,,,[[[[" * 1000]).encode(), json.dumps([[]] * 4000).encode()
    assert json_of(strings, "a", made=100_000)[0].startswith(",")
    with pytest.raises(DataError, match=r"^DataError: a: more than .* values in 16,000 bytes would take more than"):
        json_of(values, "a", made=100_000)
    assert len(json_of(values, "a", made=100_000, n_packed=len(values) * 10)) == 4000


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_pages_say_their_sizes_as_the_footer_of_an_honest_file_does(tmp_path: Path, compression: str) -> None:
    frame = pl.DataFrame(
        {
            "text": [f"a text {n % 7}" * 20 for n in range(3000)],
            "nested": [{"a": [str(n)], "b": None if n % 3 else n} for n in range(3000)],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet", compression=compression, row_group_size=1000)
    content, about = (tmp_path / "a.parquet").read_bytes(), pq.read_metadata(tmp_path / "a.parquet")
    for group in range(about.num_row_groups):
        for number in range(about.num_columns):
            chunk = about.row_group(group).column(number)
            start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            sizes = list(unpacked_sizes(memoryview(content), start, start + chunk.total_compressed_size))
            assert 0 <= chunk.total_uncompressed_size - sum(sizes) <= 100 * len(sizes)  # their headers
    assert read_text_table(tmp_path / "a.parquet").height == frame.height


def test_a_page_without_a_header_is_one_line(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a" * 1000]}).write_parquet(tmp_path / "a.parquet", compression="uncompressed")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[:4] + b"\xff" * 40 + content[44:])
    with pytest.raises(DataError, match=r"a\.parquet: not readable as PARQUET: a page"):
        read_text_table(tmp_path / "a.parquet")


# ---------------------------------------------------------------- half characters
def test_half_a_character_in_a_key_is_escaped_as_in_a_value() -> None:
    assert json_of(rb'{"\ud800": {"\uDFFF": "\ud83d\ude00"}}', "a") == {"\\ud800": {"\\udfff": "\N{GRINNING FACE}"}}
