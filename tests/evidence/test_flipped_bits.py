"""One flipped bit in any file of a warehouse's folder: `verify` names the file that has it, and no sound one."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from promptaudit.evidence.retain import retain
from promptaudit.evidence.trace.recompute import agrees
from promptaudit.evidence.verify.restore import ARCHIVE, COPY, IN_PARQUET, OWN
from promptaudit.marts.publish import publish
from promptaudit.report import report
from promptaudit.warehouse import Warehouse
from tests.evidence.test_stopped_while_publishing import AUDIT, newest
from tests.support.prefect_server import BIN
from tests.support.shell import Ended, promptaudit

N_FLIPS = 50
DAMAGED = ("broken", "changed", "gone", "added")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the older one retired to the archive."""
    folder = tmp_path_factory.mktemp("flipped")
    (folder / "registry/audits").mkdir(parents=True)
    (folder / "registry/audits/small.yml").write_text(AUDIT)
    for _ in range(2):
        assert promptaudit(folder, "run", "small", "--new").code == 0
    warehouse = Warehouse(folder / "warehouse/audit.duckdb")
    assert retain(warehouse, "small", 1)
    publish(warehouse)
    report(warehouse, newest(folder))
    verified = promptaudit(folder, "verify")
    assert verified.code == 0, verified.out
    return folder


def kinds(folder: Path) -> dict[str, tuple[list[Path], str]]:
    """The files of each kind that hold evidence, and how `verify` calls their place; a page is called by its name."""
    home = folder / "warehouse"
    published = home / "published"
    return {
        "warehouse": ([home / "audit.duckdb"], OWN),
        "published copy": ([published / "audit.duckdb"], COPY),
        "Parquet": (sorted(published.glob("marts/*/*/*.parquet")), IN_PARQUET),
        "archive": (sorted(home.glob("archive/*/*/*.parquet")), ARCHIVE),
        "report": (sorted(set(published.glob("reports/*.html")) - set(published.glob("reports/*.formats.html"))), ""),
        "formats": (sorted(published.glob("reports/*.formats.html")), ""),
        "trace": (sorted(published.glob("traces/*/*.html")), ""),
    }


def contents(path: Path) -> object:
    """Everything that a reader gets of a file: a flip that changes none of it lies in bytes that nothing reads."""
    try:
        if path.suffix == ".parquet":
            with duckdb.connect() as con:
                return con.execute(
                    "from read_parquet($path, hive_partitioning = false)", {"path": str(path)}
                ).fetchall()
        if path.suffix == ".duckdb":
            with duckdb.connect(str(path), read_only=True) as con:
                tables = con.execute("select schema_name, table_name from duckdb_tables() order by all").fetchall()
                views = con.execute(
                    "select view_name, sql from duckdb_views() where not internal order by all"
                ).fetchall()
                return [views, *(con.execute(f'from "{schema}"."{table}"').fetchall() for schema, table in tables)]
    except (duckdb.Error, UnicodeDecodeError) as error:
        return str(error)
    return path.read_bytes()


def is_alike(one: object, other: object) -> bool:
    """Whether two contents are the same but for digits that `verify` does not compare, which the order of a sum changes."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_alike, one, other))
    return agrees(one, other)


def places_named(verified: Ended) -> set[str]:
    lines = [line for line in verified.out.splitlines() if line.partition(":")[0] in DAMAGED]
    return {line.partition(" in ")[2].partition(": ")[0] for line in lines}


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["a mart's row", "the warehouse"])
def test_the_command_that_verify_names_restores_what_is_lost(folder: Path, tmp_path: Path, lost: str) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "own"))
    file = own / "warehouse/audit.duckdb"
    if lost == "the warehouse":
        file.unlink()
    else:
        with duckdb.connect(str(file)) as con:
            con.execute("delete from marts.fct_predictions where audit_run_id = ? and rowid % 2 = 0", [newest(folder)])
    search, named = f"{BIN}{os.pathsep}{os.environ['PATH']}", []
    for _ in range(2):  # of a copy that is older than its page, the page is named then
        lines = [line for line in promptaudit(own, "verify").out.splitlines() if line.startswith("restore ")]
        named += [line.partition(": ")[2].partition(" (")[0] for line in lines]
        for command in named[len(named) - len(lines) :]:
            subprocess.run(["/bin/sh", "-c", command], cwd=own, env=os.environ | {"PATH": search}, check=True)
    verified = promptaudit(own, "verify")
    assert (verified.code, "restore" in verified.out) == (0, False), verified.out
    if lost == "the warehouse":
        assert named[0].startswith("cp -p ")
    else:
        assert named == ["promptaudit rebuild"]  # of the landed rows, which are there


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_flipped_bit_is_named_where_it_lies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw, table = random.Random(56), {kind: Counter[str]() for kind in kinds(folder)}
    wrong: list[str] = []
    for n in range(N_FLIPS):
        kind = list(table)[n % len(table)]
        files, where = kinds(folder)[kind]
        path = draw.choice(files)
        was, before = path.read_bytes(), contents(path)
        at, bit = draw.randrange(len(was)), draw.randrange(8)
        path.write_bytes(was[:at] + bytes([was[at] ^ 1 << bit]) + was[at + 1 :])
        verified = promptaudit(folder, "verify")
        after = contents(path)
        path.write_bytes(was)
        named, last = places_named(verified), verified.out.splitlines()[-1:]
        table[kind]["flips"] += 1
        if verified.code == 0:
            found = "in digits that are not compared" if is_alike(before, after) else "unnoticed"
            table[kind]["in bytes that nothing reads" if after == before else found] += 1
        elif verified.code == 1 and named and all(each.startswith(where or path.name) for each in named):
            table[kind]["named right"] += 1
            if not last or not last[0].startswith("restore "):
                wrong.append(f"{kind} byte {at}: ends with {last}")
            continue
        if verified.code != 0 or not is_alike(before, after):
            wrong.append(
                f"{kind} {path.name} byte {at} bit {bit}: {verified.code} {named} {verified.out[:600]} {verified.err[-300:]}"
            )
    with capsys.disabled():
        sys.stdout.write("".join(f"\n{kind}: {dict(counts)}" for kind, counts in table.items()))
    assert wrong == [], "\n".join(wrong)


@pytest.mark.slow
def test_rot_in_the_warehouse_does_not_reach_its_copy(folder: Path) -> None:
    warehouse = Warehouse(folder / "warehouse/audit.duckdb")
    file, copy = warehouse.places.file, warehouse.places.copy
    was, sound = file.read_bytes(), copy.read_bytes()
    with duckdb.connect(str(file), read_only=True) as con:
        ((block,),) = con.execute(
            "select min(block_id) from pragma_storage_info('raw.predictions') where column_name = 'completion' and block_id >= 0"
        ).fetchall()
    at = 3 * 4096 + 262_144 * block + 200_000
    file.write_bytes(was[:at] + bytes([was[at] ^ 1]) + was[at + 1 :])
    refused = promptaudit(folder, "run", "small", "--new")
    assert refused.code != 0
    assert "is damaged" in refused.one_line()
    assert "`promptaudit verify` names what is sound" in refused.one_line()
    assert copy.read_bytes() == sound
    page = warehouse.published.path.with_name("report.html")
    for verified in (promptaudit(folder, "verify"), promptaudit(folder, "verify", str(page))):
        assert verified.code == 1
        assert places_named(verified) == {OWN}
    restore = verified.out.splitlines()[-1]
    assert restore.startswith("restore the warehouse: mv ")
    file.write_bytes(was)


def test_without_a_warehouse_and_a_copy_a_backup_is_asked_for(tmp_path: Path) -> None:
    verified = promptaudit(tmp_path, "verify")
    assert verified.code != 0
    assert "nothing is published beside it; if it is lost, put a backup in its place" in verified.one_line()
