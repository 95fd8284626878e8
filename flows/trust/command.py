"""Records, takes back and lists what cards of others may send keys to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from flows.settings import Settings
from flows.trust.refuse import Use, wanted_by
from flows.trust.store import Pair, folder_name, forget, load, record, trust_file
from models_registry.registry import load_registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """A pair as it is printed."""

    origin: str
    shown: str  # the origin with what it looks like
    api_key_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPair(PairRow):
    """A pair that cards of a folder use, by the ids of their models."""

    models: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPair(PairRow):
    """A pair that is trusted, with when it was recorded (ISO 8601 in UTC) and for which registry."""

    trusted_at: str
    registry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedFolder:
    """The pairs that a registry folder needs, all of them trusted now."""

    registry: Path
    trust_file: Path
    pairs: tuple[FolderPair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenFolder:
    """The pairs that were taken back with a registry folder."""

    registry: Path
    trust_file: Path
    forgotten: tuple[PairRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustList:
    """Everything that is trusted, the oldest first."""

    trust_file: Path
    trusted: tuple[ListedPair, ...]


def trust_folder(settings: Settings, folder: Path) -> TrustedFolder:
    """Records every pair of a registry folder as trusted; raises CardError as loading does."""
    wanted = _wanted_in(folder)
    path = trust_file(settings)
    new = record(path, wanted, folder) if wanted else []
    pairs = tuple(
        FolderPair(**_cells(pair), models=tuple(use.model_id for use in uses), is_new=pair in new)
        for pair, uses in wanted.items()
    )
    return TrustedFolder(registry=folder, trust_file=path, pairs=pairs)


def forget_folder(settings: Settings, folder: Path) -> ForgottenFolder:
    """Takes back what a registry folder names now, and what was trusted for it, even where the folder is gone."""
    path = trust_file(settings)
    is_recorded = any(trusted.registry == folder_name(folder) for trusted in load(path).values())
    named: Iterable[Pair] = _wanted_in(folder) if folder.is_dir() or not is_recorded else ()
    forgotten = tuple(PairRow(**_cells(pair)) for pair in forget(path, named, folder))
    return ForgottenFolder(registry=folder, trust_file=path, forgotten=forgotten)


def list_trusted(settings: Settings) -> TrustList:
    """Returns everything that is trusted, the oldest first."""
    path = trust_file(settings)
    trusted = tuple(
        ListedPair(
            **_cells(pair),
            trusted_at=f"{known.trusted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            registry=known.registry,
        )
        for pair, known in load(path).items()
    )
    return TrustList(trust_file=path, trusted=trusted)


def _wanted_in(folder: Path) -> dict[Pair, list[Use]]:
    """Returns every pair that the model cards of a registry folder need trust for."""
    models = load_registry([folder]).entries["models"]
    return wanted_by({name: entry for name, entry in models.items() if entry.root == folder})


def _cells(pair: Pair) -> dict[str, str]:
    return {"origin": pair.origin, "shown": str(pair), "api_key_env": pair.api_key_env}
