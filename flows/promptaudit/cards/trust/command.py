"""Records, takes back and lists what cards of others may send keys to, and the code that cards may call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from promptaudit.cards.trust.refuse import CodeUse, Use, code_in, wanted_by
from promptaudit.cards.trust.store import Pair, folder_name, forget, key_of, load, record, trust_file
from promptaudit.registry.own_code import Code
from promptaudit.registry.registry import Registry, read_registry
from promptaudit.system.display.columns import aligned
from promptaudit.system.display.figures import plural
from promptaudit.system.display.progress import visible
from promptaudit.system.settings import Settings

DIGITS = 12  # of a sha256, as it is shown


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
class CodeRow:
    """Code as it is printed; the fields of `promptaudit.registry.own_code.Code`, and all of it in words."""

    use: str
    name: str
    place: str | None
    sha256: str | None
    folder_sha256: str | None
    environment: tuple[str, ...]
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderCode(CodeRow):
    """Code that cards of a folder name, and those cards."""

    cards: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCode(CodeRow):
    """Code that is trusted, with when it was recorded (ISO 8601 in UTC) and for which registry."""

    trusted_at: str
    registry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedFolder:
    """The pairs and the code that a registry folder needs, all of them trusted now."""

    registry: Path
    trust_file: Path
    pairs: tuple[FolderPair, ...]
    code: tuple[FolderCode, ...]
    passed_over: tuple[str, ...]  # what is wrong with cards, which need no trust as they are

    def lines(self) -> list[str]:
        """Writes a line for each pair and all code, safe to print, and a closing one."""
        pairs = [_row("new" if each.is_new else "known", each, ", ".join(each.models)) for each in self.pairs]
        code = [_row("new" if each.is_new else "known", each, ", ".join(each.cards)) for each in self.code]
        new = _counted(sum(each.is_new for each in self.pairs), sum(each.is_new for each in self.code))
        last = f"{new} recorded in {self.trust_file}" if new else f"all trusted already, in {self.trust_file}"
        if not pairs and not code:
            last = f"{self.registry}: no card of it sends a key to another machine or names code, nothing to trust"
        return [*map(visible, self.passed_over), *_lines(pairs, code), visible(last)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenFolder:
    """The pairs and the code that were taken back with a registry folder."""

    registry: Path
    trust_file: Path
    forgotten: tuple[PairRow, ...]
    forgotten_code: tuple[CodeRow, ...]

    def lines(self) -> list[str]:
        """Writes a line for each pair and all code, safe to print, and a closing one."""
        pairs, code = ([_row("forgotten", each, "") for each in rows] for rows in (self.forgotten, self.forgotten_code))
        last = f"{self.registry}: nothing of it is trusted"
        if pairs or code:
            last = f"{_counted(len(pairs), len(code))} taken out of {self.trust_file}"
        return [*_lines(pairs, code), visible(last)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustList:
    """Everything that is trusted, the oldest first."""

    trust_file: Path
    trusted: tuple[ListedPair, ...]
    code: tuple[ListedCode, ...]

    def lines(self) -> list[str]:
        """Writes a line for each pair and all code, safe to print, and a closing one."""
        pairs, code = (
            [_row(each.trusted_at, each, each.registry) for each in rows] for rows in (self.trusted, self.code)
        )
        what = _counted(len(pairs), len(code)) or "nothing is trusted yet,"
        return [*_lines(pairs, code), visible(f"{what} in {self.trust_file}")]


def trust_folder(settings: Settings, folder: Path) -> TrustedFolder:
    """Records every pair and all code of the sound cards of a registry folder as trusted.

    Raises CardError for no folder.
    """
    registry = read_registry([folder])
    pairs, named = _wanted_in(registry, folder)
    path = trust_file(settings)
    wanted: list[Pair | Code] = [*pairs, *named]
    new = record(path, wanted, folder) if wanted else []
    return TrustedFolder(
        registry=folder,
        trust_file=path,
        pairs=tuple(
            FolderPair(**_cells(pair), models=tuple(use.model_id for use in uses), is_new=pair in new)
            for pair, uses in pairs.items()
        ),
        code=tuple(
            FolderCode(**_code_cells(code), cards=tuple(use.card for use in uses), is_new=code in new)
            for code, uses in named.items()
        ),
        passed_over=tuple(map(str, registry.errors)),
    )


def forget_folder(settings: Settings, folder: Path) -> ForgottenFolder:
    """Takes back what a registry folder names now, and what was trusted for it, even where the folder is gone."""
    path = trust_file(settings)
    is_recorded = any(trusted.registry == folder_name(folder) for trusted in load(path).values())
    is_read = folder.is_dir() or not is_recorded
    pairs, named = _wanted_in(read_registry([folder]), folder) if is_read else ({}, {})
    gone = forget(path, [*pairs, *named], folder)
    return ForgottenFolder(
        registry=folder,
        trust_file=path,
        forgotten=tuple(PairRow(**_cells(each)) for each in gone if isinstance(each, Pair)),
        forgotten_code=tuple(CodeRow(**_code_cells(each)) for each in gone if isinstance(each, Code)),
    )


def list_trusted(settings: Settings) -> TrustList:
    """Lists everything that is trusted, the oldest first."""
    path = trust_file(settings)
    known = load(path)
    since: dict[Pair | Code, dict[str, Any]] = {
        each: {"trusted_at": f"{trusted.trusted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", "registry": trusted.registry}
        for each, trusted in known.items()
    }
    return TrustList(
        trust_file=path,
        trusted=tuple(ListedPair(**_cells(each), **since[each]) for each in known if isinstance(each, Pair)),
        code=tuple(ListedCode(**_code_cells(each), **since[each]) for each in known if isinstance(each, Code)),
    )


def _wanted_in(registry: Registry, folder: Path) -> tuple[dict[Pair, list[Use]], dict[Code, list[CodeUse]]]:
    used = {
        kind: {name: entry for name, entry in entries.items() if entry.root == folder}
        for kind, entries in registry.entries.items()
    }
    return wanted_by(used["models"]), {key_of(code): uses for code, uses in code_in(used).items()}


def _cells(pair: Pair) -> dict[str, str]:
    return {"origin": pair.origin, "shown": str(pair), "api_key_env": pair.api_key_env}


def _code_cells(code: Code) -> dict[str, Any]:
    return {**asdict(code), "shown": str(code)}


def _row(first: str, row: PairRow | CodeRow, last: str) -> tuple[str, str, str, str]:
    if isinstance(row, PairRow):
        return first, row.shown, row.api_key_env, last
    return first, row.shown, "" if row.sha256 is None else f"sha256 {row.sha256[:DIGITS]}", last


def _lines(*tables: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    # each table has columns as wide as it needs
    for rows in tables:
        widths = [max(len(row[column]) for row in rows) + 2 for column in range(3)] if rows else []
        yield from (visible(aligned(row, [*widths, 0])) for row in rows)


def _counted(n_pairs: int, n_code: int) -> str:
    counts = (plural(n_pairs, "pair"), plural(n_code, "piece of code", "pieces of code"))
    return " and ".join(each for each, n in zip(counts, (n_pairs, n_code), strict=True) if n)
