"""What `promptaudit trust` does: records, takes back or lists what cards of others may send keys to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from flows.display.progress import visible
from flows.settings import Settings
from flows.trust.refuse import Use, wanted_by
from flows.trust.store import Pair, folder_name, forget, load, record, trust_file
from models_registry.registry import load_registry


def trust_folder(settings: Settings, folder: Path) -> dict[str, Any]:
    """Records every pair of a registry folder as trusted; which, who uses them, and which are new."""
    wanted = _wanted_in(folder)
    path = trust_file(settings)
    new = record(path, wanted, folder) if wanted else []
    return {
        "registry": str(folder),
        "trust_file": str(path),
        "pairs": [
            {**_as_dict(pair), "models": [use.model_id for use in uses], "is_new": pair in new}
            for pair, uses in wanted.items()
        ],
    }


def _wanted_in(folder: Path) -> dict[Pair, list[Use]]:
    """Every pair that the model cards of a registry folder need trust for; raises CardError as loading does."""
    models = load_registry([folder]).entries["models"]
    return wanted_by({name: entry for name, entry in models.items() if entry.root == folder})


def forget_folder(settings: Settings, folder: Path) -> dict[str, Any]:
    """Takes back what a registry folder names now, and what was trusted for it, even where the folder is gone."""
    path = trust_file(settings)
    recorded = any(trusted.registry == folder_name(folder) for trusted in load(path).values())
    named: Iterable[Pair] = _wanted_in(folder) if folder.is_dir() or not recorded else ()
    gone = forget(path, named, folder)
    return {"registry": str(folder), "trust_file": str(path), "forgotten": [_as_dict(pair) for pair in gone]}


def list_trusted(settings: Settings) -> dict[str, Any]:
    """Everything that is trusted, oldest first."""
    path = trust_file(settings)
    return {
        "trust_file": str(path),
        "trusted": [
            {
                **_as_dict(pair),
                "trusted_at": f"{trusted.trusted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
                "registry": trusted.registry,
            }
            for pair, trusted in load(path).items()
        ],
    }


def _as_dict(pair: Pair) -> dict[str, Any]:
    return {"origin": pair.origin, "shown": str(pair), "api_key_env": pair.api_key_env}


def render_trust(result: Mapping[str, Any]) -> str:
    """What one of the three left, for people: a line a pair, and a closing one."""
    path = result["trust_file"]
    if "pairs" in result:
        rows = [
            ("new" if row["is_new"] else "known", row["shown"], row["api_key_env"], ", ".join(row["models"]))
            for row in result["pairs"]
        ]
        n_new = sum(row["is_new"] for row in result["pairs"])
        last = f"{_pairs(n_new)} recorded in {path}" if n_new else f"all trusted already, in {path}"
        if not rows:
            last = f"{result['registry']}: no card of it sends a key to another machine, nothing to trust"
    elif "forgotten" in result:
        rows = [("forgotten", row["shown"], row["api_key_env"], "") for row in result["forgotten"]]
        last = f"{_pairs(len(rows))} taken out of {path}" if rows else f"{result['registry']}: nothing of it is trusted"
    else:
        rows = [(row["trusted_at"], row["shown"], row["api_key_env"], row["registry"]) for row in result["trusted"]]
        last = f"{_pairs(len(rows))} in {path}" if rows else f"nothing is trusted yet, in {path}"
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]
    return visible("\n".join([*lines, last]))


def _pairs(n: int) -> str:
    return f"{n} pair{'' if n == 1 else 's'}"
