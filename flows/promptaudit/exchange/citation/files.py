"""Writes the files of a folder that cites a run. All of them follow from the copy of the run that lies among them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from promptaudit.exchange.citation.methods import cited, methods
from promptaudit.marts.manifest import made_by
from promptaudit.query.export_run import export_run
from promptaudit.system.files import file_sha256
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Ask, Warehouse
from promptaudit.warehouse.sql import sql

CHECKSUMS, MANIFEST, METHODS = "SHA256SUMS", "manifest.json", "methods.md"
TABLES = {"samples": "data/samples.parquet", "prompt_variants": "prompts/prompt_variants.parquet"}
"""Queries, each with the file in which a folder has its rows."""


def warehouse_of(folder: Path) -> Warehouse:
    """Names the warehouse of a folder. Only its published copy is there, which every reader opens."""
    return Warehouse(folder / "warehouse" / "audit.duckdb")


def write_files(folder: Path, warehouse: Warehouse, audit_run_id: str) -> int:
    """Writes what follows from the published copy of one run into an empty folder, and counts the answers in it."""
    ask: Ask = partial(warehouse.published.read, run=audit_run_id)
    of = cited(ask)
    (folder / METHODS).write_text(methods(of), encoding="utf-8")
    _write_json(
        folder / MANIFEST, {"audit_run_id": audit_run_id, "audit_id": of.run["audit_id"], "seal": of.seal, **made_by()}
    )
    for kind, cards in _cards(ask, of.run["card"]).items():
        _write_json(folder / "cards" / f"{kind}.json", cards)
    for query, name in TABLES.items():
        path = folder / name
        path.parent.mkdir()
        warehouse.published.frame(sql("exchange.citation", query), run=audit_run_id).write_parquet(path)
    answers = export_run(Settings(warehouse=warehouse.path), audit_run_id, "parquet", folder / "answers", "full")
    return answers.n_rows


def _cards(ask: Ask, opened_with: str) -> dict[str, dict[str, Any]]:
    # by kind and id, as each landed last; an import may have none but its task's
    cards: dict[str, dict[str, Any]] = json.loads(opened_with)
    kinds = {kind: dict(own) for kind, own in cards.items() if kind in KINDS and own}
    for row in ask(sql("exchange.citation", "cited_cards")):
        kinds.setdefault(row["kind"], {})[row["id"]] = json.loads(row["card"])
    return kinds


KINDS = ("audits", "judges", "models", "rephrasers", "tasks")


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def checksums(folder: Path) -> dict[str, str]:
    """Computes the sha256 of every file of a folder except SHA256SUMS, by its path there.

    A link, and what is no file, has an empty text in its place.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {
        name: file_sha256(path) if path.is_file() and not path.is_symlink() else ""
        for path in paths
        if (name := path.relative_to(folder).as_posix()) != CHECKSUMS
    }


def checksum_lines(sums: dict[str, str]) -> str:
    """Writes checksums as `sha256sum` does, a line for each file."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items())
