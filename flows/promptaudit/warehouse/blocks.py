"""Checks every block of a DuckDB file. DuckDB checks a block when a query reads it, and few queries read all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection, DatabaseError

HEADERS, BLOCK = 3 * 4096, 262_144  # bytes before the first block, and of a block
AT_ONCE = 64  # blocks
FIRST, FACTOR = 5381, 0xBF58476D1CE4E5B9  # of DuckDB's checksum, which is a block's first 8 bytes


def damaged_blocks(path: Path) -> list[int]:
    """Lists the blocks, from 0, whose content is not that of their checksum. A block may be one that no table uses."""
    import numpy as np  # most commands have no use for it

    found: list[int] = []
    with path.open("rb") as file:
        file.seek(HEADERS)
        place = 0
        while part := file.read(AT_ONCE * BLOCK):
            whole = len(part) // BLOCK
            words = np.frombuffer(part[: whole * BLOCK], dtype="<u8").reshape(whole, BLOCK // 8)
            sums = np.bitwise_xor.reduce(words[:, 1:] * np.uint64(FACTOR), axis=1) ^ np.uint64(FIRST)
            found += [place + int(at) for at in np.flatnonzero(sums != words[:, 0])]
            if len(part) % BLOCK:
                found.append(place + whole)  # the file was cut
            place += whole
    return found


def refuse_damaged(warehouse: Warehouse, path: Path) -> None:
    """Raises WarehouseError if the file, or its copy at `path`, has a damaged block that a table uses.

    A copy is read because it has what was read of the file.
    """
    blocks = damaged_blocks(path)
    if blocks and blocks != damaged_blocks(warehouse.places.file):
        msg = f"{path}: block {blocks[0]} reads back otherwise than it was written; the last publication stays"
        raise WarehouseError(msg)
    if blocks:
        with warehouse.inspect() as con:
            read_all(con, blocks, warehouse)


def read_all(con: Connection, blocks: Sequence[int], name: object) -> None:
    """Has DuckDB read every table of a file with damaged blocks; raises WarehouseError if one of them is used."""
    try:
        tables = con.execute(
            "select schema_name, table_name from duckdb_tables() where not internal and not temporary"
        ).fetchall()
        for schema, table in tables:
            con.execute(f'select bit_xor(hash(t)) from "{schema}"."{table}" as t').fetchall()  # noqa: S608 - a table's own name
    except DatabaseError:
        at = ", ".join(map(str, blocks[:5]))
        msg = (
            f"{name} is damaged: block {at} reads back otherwise than it was written; nothing of it is copied: "
            "`promptaudit verify` names what is sound and the command that restores it"
        )
        raise WarehouseError(msg) from None
