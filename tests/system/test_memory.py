from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptaudit.system import memory
from promptaudit.system.memory import duckdb_memory, machine_memory

GIB = 2**30


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the place of the cgroups'; the file `self` in it lists those that this process is in."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "self")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.delenv("PROMPTAUDIT_MEMORY", raising=False)
    machine_memory.cache_clear()
    yield tmp_path
    machine_memory.cache_clear()


def limit(folder: Path, name: str, content: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)


def test_the_least_limit_of_a_cgroup_and_those_above_it_counts(cgroups: Path) -> None:
    (cgroups / "self").write_text("0::/a/b\n")
    limit(cgroups / "a/b", "memory.max", "max\n")
    limit(cgroups / "a", "memory.max", f"{2 * GIB}\n")
    limit(cgroups, "memory.max", f"{3 * GIB}\n")
    assert machine_memory() == 2 * GIB
    assert duckdb_memory(10**9) == "1024MiB"  # half of so little


def test_a_container_sees_its_own_limit_under_the_path_of_the_host(cgroups: Path) -> None:
    (cgroups / "self").write_text("5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n")
    limit(cgroups / "memory", "memory.limit_in_bytes", f"{GIB}\n")
    assert machine_memory() == GIB


@pytest.mark.usefixtures("cgroups")
def test_without_cgroups_the_machine_is_the_limit_of_which_a_part_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 64 * GIB // 4096}.__getitem__)
    assert machine_memory() == 64 * GIB
    assert [duckdb_memory(n) for n in (0, 20_000_000, 10**9)] == ["1536MiB", "3051MiB", "16384MiB"]
    monkeypatch.setenv("PROMPTAUDIT_MEMORY", "3GiB")
    assert duckdb_memory(10**9) == "3072MiB"
