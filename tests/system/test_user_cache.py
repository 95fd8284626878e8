"""What is kept for a user: private, whole, and nothing that somebody else could have put there."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.system import user_cache as cache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROMPTAUDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_kept_is_read_and_is_its_owners_alone(folder: Path) -> None:
    assert cache.read("a.js") is None
    cache.keep("a.js", b"one\n\xff")
    assert cache.read("a.js") == b"one\n\xff"
    cache.keep("b.js", b"two", instead_of="*.js")
    assert (cache.read("a.js"), cache.read("b.js")) == (None, b"two")
    (kept,) = folder.glob("*/*")
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("spoilt", [b"", b"half", b"0" * 64 + b"\nforged", b"\xff\xfe"])
def test_what_is_spoilt_counts_as_nothing(folder: Path, spoilt: bytes) -> None:
    cache.keep("a.js", b"one")
    (kept,) = folder.glob("*/a.js")
    kept.write_bytes(spoilt)
    assert cache.read("a.js") is None


def test_a_folder_that_others_may_write_is_left_alone() -> None:
    cache.keep("a", b"mine")
    path = cache.kept("a")
    assert path is not None
    path.parent.chmod(0o777)
    assert cache.read("a") is None
    cache.keep("b", b"mine")
    assert not path.with_name("b").exists()


def test_without_a_home_or_a_place_to_write_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PROMPTAUDIT_CACHE", str(tmp_path / "file"))
    cache.keep("a", b"x")
    assert cache.read("a") is None
    monkeypatch.delenv("PROMPTAUDIT_CACHE")
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", _nobody)
    cache.keep("a", b"x")
    assert (cache.kept("a"), cache.read("a")) == (None, None)


def _nobody(uid: int) -> None:
    raise KeyError(uid)


def test_a_relative_folder_is_of_where_one_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROMPTAUDIT_CACHE", "here")
    cache.keep("a", b"x")
    assert [path.name for path in (tmp_path / "here").glob("*/*")] == ["a"]
