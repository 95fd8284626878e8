"""Finds where a sample may still be quoted once its texts are erased: files beside the warehouse and out of reach."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator, Sequence
from glob import escape as escape_pattern
from pathlib import Path

from markupsafe import escape

from promptaudit.audit.erase.examples import SampleOfRun
from promptaudit.warehouse import Warehouse

HANDED_OUT = (
    "what left this folder: copies and exports made by hand, sheets to annotate, messages sent, the providers' own logs"
)


def still_quoting(warehouse: Warehouse, texts: Sequence[str]) -> list[Path]:
    """Finds files under the warehouse's folder that hold one of the texts, or that cannot be read.

    A text is looked for as it is, as HTML has it and as JSON has it. Only folders of promptaudit are searched, and
    texts in packed files such as Parquet are not found.
    """
    wanted = {
        spelt.encode("utf-8", "backslashreplace")
        for text in texts
        for spelt in (text, str(escape(text)), json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    }
    return [path for path in sorted(set(_files(warehouse))) if _holds(path, wanted)]


def _files(warehouse: Warehouse) -> Iterator[Path]:
    places = warehouse.places
    own = (warehouse.published.path.parent, places.archive, places.spool, places.python)
    yield from (path for folder in own for path in folder.rglob("*"))
    for path in {warehouse.path.absolute(), warehouse.places.file}:  # as named, and where a link leads
        yield from path.parent.glob(f"{escape_pattern(path.name)}*")
        yield from (
            file for name in ("batches", "dbt", "lineage", "prefect") for file in (path.parent / name).rglob("*")
        )


def _holds(path: Path, wanted: Iterable[bytes]) -> bool:
    try:
        if path.is_symlink() or not path.is_file() or not path.stat().st_size:
            return False
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(text) >= 0 for text in wanted)
    except FileNotFoundError:  # another process deleted it meanwhile
        return False
    except OSError:
        return True


def beyond_reach(warehouse: Warehouse, samples: Sequence[SampleOfRun]) -> tuple[str, ...]:
    """Lists the data files of these runs by their manifests, what a link does not reach, and what nobody can list."""
    files = set()
    for run in {row.audit_run_id for row in samples}:
        (row,) = warehouse.read("select manifest from raw.audit_runs where audit_run_id = $run", run=run)
        for task_id, data in json.loads(row["manifest"] or "{}").get("data", {}).items():
            if task_id == "files":
                files |= {f"the imported file {each['name']}" for each in data}
            elif task_id in {each.task_id for each in samples}:
                files.add(f"the data of task {task_id}: {data.get('path') or data.get('hub')}")
    other = Warehouse(warehouse.places.file).published.path  # where a link leads may be published too
    if other.exists() and not other.samefile(warehouse.published.path):
        files.add(f"what was published of the warehouse as it is called there: {other.parent}")
    return (*sorted(files), HANDED_OUT)
