"""What gzip and Zstandard packed is read as if it were not, up to a size, and nothing of it stays."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from promptaudit.registry import unpack
from promptaudit.registry.errors import DataError
from promptaudit.registry.tables import read_text_table
from promptaudit.registry.unpack import ending_of, renamed, stem_of, unpacked

TEXT = b"id,text\n010,N/A\n2,\n"


@pytest.fixture(autouse=True)
def no_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", gzip.compress(TEXT)),
        ("a.CSV.GZ", gzip.compress(TEXT[:10]) + gzip.compress(TEXT[10:])),
        ("a.csv.zst", pa.compress(TEXT, "zstd", asbytes=True)),
        ("a.jsonl.gz", gzip.compress(b'{"id": "010", "text": "N/A"}\n{"id": 2, "text": ""}\n')),
    ],
    ids=["csv", "two parts", "zstd", "jsonl"],
)
def test_a_packed_table_is_read(tmp_path: Path, name: str, content: bytes, no_file_stays: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_text_table(tmp_path / name).rows() == [("010", "N/A"), ("2", "")]
    assert not list(no_file_stays.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(TEXT)[:-4], r"a\.csv\.gz: cannot be unpacked: it is cut off, or not packed by gzip$"),
        (gzip.compress(TEXT)[:-8] + b"12345678", r"a\.csv\.gz: cannot be unpacked: it is cut off"),
        (TEXT, r"a\.csv\.gz: cannot be unpacked: it is cut off, or not packed by gzip$"),
        (gzip.compress(TEXT + b"3\n"), r"/a\.csv\.gz row 3: 1 fields, the header has 2$"),
    ],
    ids=["cut off", "another sum", "not packed", "uneven"],
)
def test_what_is_broken_is_one_line_that_names_the_file(
    tmp_path: Path, content: bytes, message: str, no_file_stays: Path
) -> None:
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_text_table(tmp_path / "a.csv.gz")
    assert "unpacked-" not in str(caught.value)
    assert not list(no_file_stays.iterdir())


def test_a_file_that_grows_beyond_its_bound_is_refused_before_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_file_stays: Path
) -> None:
    monkeypatch.setattr(unpack, "MAX_UNPACKED", 1 << 20)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id\n" + b"1\n" * (1 << 22)))  # 8 MiB in 8 kB
    limit = (1 << 20) + 100 * path.stat().st_size
    with pytest.raises(DataError, match=rf"a\.csv\.gz: more than {limit:,} bytes when unpacked; split it"):
        read_text_table(path)
    assert not list(no_file_stays.iterdir())


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("answers.csv.gz", "; nearest: answer.csv"), ("yers.csv.zst", ""), ("answer.jsonl.gz", "; nearest: answer.csv")],
)
def test_a_packed_file_that_is_not_there_is_named(tmp_path: Path, name: str, nearest: str) -> None:
    (tmp_path / "answer.csv").write_bytes(TEXT)
    with pytest.raises(DataError, match=rf"{name}: no such file{nearest}$"):
        read_text_table(tmp_path / name)
    (tmp_path / "answer.csv").rename(tmp_path / "answer.csv.zst")
    with pytest.raises(DataError, match=rf"{name}: no such file{nearest.replace('csv', 'csv.zst')}$"):
        read_text_table(tmp_path / name)


def test_what_is_not_packed_is_given_as_it_is(tmp_path: Path) -> None:
    with unpacked(tmp_path / "a.csv") as path:
        assert path == tmp_path / "a.csv"


def test_errors_about_the_unpacked_name_the_packed(tmp_path: Path) -> None:
    packed = tmp_path / "two  blanks.json.gz"
    packed.write_bytes(gzip.compress(b"{}"))
    with unpacked(packed) as path:
        assert (path.name, path.parent.name) == ("two  blanks.json", tmp_path.name)
        message = renamed(str(DataError(f"{path} row 1")), path, packed)
    assert message == f"DataError: {tmp_path}/two blanks.json.gz row 1"


@pytest.mark.parametrize(
    ("name", "ending", "stem"),
    [("a.b.CSV.gz", ".csv.gz", "a.b"), ("a.jsonl", ".jsonl", "a"), ("a.gz", ".gz", "a"), ("a", "", "a")],
)
def test_a_name_ends_with_both(name: str, ending: str, stem: str) -> None:
    assert (ending_of(Path(name)), stem_of(Path(name))) == (ending, stem)
