"""Own code reaches nothing of its registry folder that its sha256 does not cover."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from promptaudit.registry import code_folder
from promptaudit.registry.code_folder import CARD_FOLDERS, folder_sha256
from promptaudit.registry.errors import CardError
from promptaudit.registry.registry import KINDS

CODE = (
    "lab.py",
    "helper.py",
    "pack/__init__.py",
    "models/run.py",
    "tasks/run.py",
    "templates/t.py",
    "data/words.txt",
    "data/more.py",
    "notes.md",
    "audits/settings.toml",
    "config.yml",
    "src/warehouse/io.py",
)
NO_CODE = (
    "models/m.yml",
    "tasks/t.yaml",
    "tasks/deep/u.yml",
    "audits/a.yml",
    "datasets/d.csv",
    "answers/a.parquet",
    "checks/mine.json",
    ".git/config",
    ".hidden.py",
    "__pycache__/helper.cpython-311.pyc",
    "pack/__pycache__/x.pyc",
    "helper.pyc",
    "warehouse/audit.duckdb",
    "venv/pyvenv.cfg",
    "venv/lib/site.py",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A registry with files of every kind."""
    root = tmp_path / "registry"
    for name in (*CODE, *NO_CODE):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "tasks/t.yaml").write_text("t: {data: {path: datasets/d.csv}}\nodd: 3\n")
    (root / "models/m.yml").write_text("m: {engine: recorded, path: ./answers/a.parquet}\n")
    (root / "audits/a.yml").write_text("a: {tasks: [t], models: [m], format: {expectations: checks/mine.json}}\n")
    (root / "tasks/deep/u.yml").write_text("no: card: at all\n")
    return root


def copied(root: Path, copy: Path, named: frozenset[Path] = frozenset()) -> dict[str, str]:
    copy.mkdir()
    assert folder_sha256(root, named, copy) == folder_sha256(root, named)
    return {path.relative_to(copy).as_posix(): path.read_text() for path in copy.rglob("*") if path.is_file()}


def test_what_code_may_use_is_copied_and_nothing_else(root: Path, tmp_path: Path) -> None:
    assert copied(root, tmp_path / "copy") == {name: name for name in CODE}
    named = frozenset({root / "datasets/d.csv", root / ".hidden.py"})
    assert copied(root, tmp_path / "named", named).keys() == {*CODE, "datasets/d.csv", ".hidden.py"}
    assert set(CARD_FOLDERS) == set(KINDS)


@pytest.mark.parametrize("name", CODE)
def test_each_file_that_is_copied_counts(root: Path, name: str) -> None:
    before = folder_sha256(root)
    (root / name).write_text("other")
    assert folder_sha256(root) != before


@pytest.mark.parametrize("name", NO_CODE)
def test_no_file_that_is_left_out_counts(root: Path, name: str) -> None:
    before = folder_sha256(root)
    (root / name).write_bytes((root / name).read_bytes() + b" # other")
    assert folder_sha256(root) == before


def run(path: Path) -> None:
    path.chmod(0o755)


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "new.py").write_text(""),
        lambda root: (root / "helper.py").unlink(),
        lambda root: (root / "helper.py").rename(root / "helpers.py"),
        lambda root: run(root / "helper.py"),
        lambda root: (root / "tasks/u.yml").write_text(
            "u: {data: {path: helper.py}}\n"
        ),  # its code can read it no more
    ],
)
def test_a_name_and_whether_a_file_runs_count(root: Path, change: Callable[[Path], object]) -> None:
    before = folder_sha256(root)
    change(root)
    assert folder_sha256(root) != before


def test_a_link_to_a_file_of_the_folder_is_that_file(root: Path, tmp_path: Path) -> None:
    (root / "link.py").symlink_to("helper.py")
    (root / "gone.py").symlink_to("nowhere.py")
    os.mkfifo(root / "pipe.py")
    assert copied(root, tmp_path / "copy") == {name: name for name in CODE} | {"link.py": "helper.py"}
    before = folder_sha256(root)
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("lab.py")
    assert folder_sha256(root) != before


@pytest.mark.parametrize("target", ["../outside.py", "../outside", "pack", "/dev/zero"])
def test_another_link_is_refused(root: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside.py").write_text("")
    (root / "pack" / "link").symlink_to(root / target)
    with pytest.raises(
        CardError, match=r"^CardError: 'pack/link' is a link that leaves the registry or leads to a folder; put"
    ):
        folder_sha256(root)


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_FILES"])
def test_a_folder_of_too_much_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(code_folder, limit, 10)
    with pytest.raises(CardError, match="beside its cards and their data, too many to look at for code; move"):
        folder_sha256(root)
