"""A shared folder: the same on a disk and in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from promptaudit.registry.errors import BrokenFile, UsageError, WarehouseError
from promptaudit.system.shared_folder import SharedFolder, shared_folder
from tests.support.s3_server import running_s3


@pytest.fixture(params=["disk", "memory", pytest.param("s3", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedFolder]:
    """An empty shared folder of each kind."""
    if request.param == "disk":
        yield shared_folder(tmp_path / "shared")
    elif request.param == "memory":
        fsspec.filesystem("memory").store.clear()
        yield shared_folder("memory://shared")
    else:
        pytest.importorskip("s3fs")
        pytest.importorskip("moto")
        with running_s3() as variables:
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            yield shared_folder("s3://audits/night")


def test_files_are_written_read_listed_taken_over_and_removed(folder: SharedFolder, tmp_path: Path) -> None:
    assert folder.names() == []
    assert folder.read("1/a/lease.json") is None
    inner = folder.under("run")
    inner.write("1/a/lease.json", b"one")
    inner.write("1/a/lease.json", b"two")
    segment = tmp_path / "00000001.predictions.jsonl"
    segment.write_bytes(b"row\n")
    inner.take(segment, "1/a/00000001.predictions.jsonl")
    assert not segment.exists()
    assert inner.names() == ["1/a/00000001.predictions.jsonl", "1/a/lease.json"]
    assert folder.names() == [f"run/{name}" for name in inner.names()]
    assert inner.read("1/a/lease.json") == b"two"
    assert inner.read("1/a/00000001.predictions.jsonl") == b"row\n"
    inner.write("1/a/odd", b"1")
    inner.write("1/b/odd", b"2")
    assert inner.set_aside("1/a/odd").endswith(".aside/run/1/a/odd")
    inner.set_aside("1/b/odd")
    inner.write("1/a/odd", b"3")
    inner.set_aside("1/a/odd")  # nothing that is there is written over
    for name in inner.names():
        inner.remove(name)
    inner.remove("1/a/lease.json")  # it is gone
    assert folder.names() == []


def test_a_file_that_is_too_large_is_not_read(folder: SharedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("1/a/odd", b"four")
    assert (folder.size("1/a/odd"), folder.size("1/a/gone")) == (4, 0)
    monkeypatch.setattr("promptaudit.system.shared_folder.MOST_BYTES", 3)
    with pytest.raises(BrokenFile, match=r"1/a/odd: no .*file of at most 3 bytes"):
        folder.read("1/a/odd")


def test_a_folder_on_a_disk_leaves_nothing_and_shows_no_half_of_a_file(tmp_path: Path) -> None:
    folder = shared_folder(tmp_path / "shared").under("run")
    folder.write("1/a/lease.json", b"one")
    (tmp_path / "shared/run/1/a/lease.json.77.new").write_bytes(b"ha")
    assert folder.names() == ["1/a/lease.json"]
    (tmp_path / "shared/run/1/a/lease.json.77.new").unlink()
    folder.remove("1/a/lease.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("a file")
    with pytest.raises(WarehouseError, match="shared/1: cannot be made: Not a directory"):
        shared_folder(tmp_path / "shared").write("1/lease.json", b"")


def test_a_store_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="no store of kind 'nowhere' is installed"):
        shared_folder("nowhere://bucket/prefix")


def test_a_store_s_own_words_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAsecret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(WarehouseError) as raised:
        shared_folder("s3://bucket/prefix").write("lease.json", b"")
    assert str(raised.value).endswith("the object store does not answer: EndpointConnectionError")


def test_drafts_of_killed_writers_go_with_the_folders_that_held_nothing_else(tmp_path: Path) -> None:
    folder = shared_folder(tmp_path / "askers")
    folder.write("run/1/lease.json", b"{}")
    for left in ("run/0/abc/lease.json.12.new", "run/1/landed.parquet.12.new"):
        (tmp_path / "askers" / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "askers" / left).write_bytes(b"half")
    folder.under("run").sweep()
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == [
        "askers",
        "askers/run",
        "askers/run/1",
        "askers/run/1/lease.json",
    ]
