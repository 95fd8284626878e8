"""Keeps the file of what a user trusts: hosts that cards of others may send the value of a key variable to, and since when.

It is private to its owner. Writers take turns and read before they write, so that none loses what another recorded.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from flows.settings import Settings
from models_registry.errors import UsageError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; the replacement is still all or nothing
    fcntl = None  # type: ignore[assignment]

WRITABLE_BY_OTHERS = 0o022


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Where a request goes, `scheme://host:port` in its one spelling, and the variable whose value goes with it."""

    origin: str
    api_key_env: str

    def __str__(self) -> str:
        """Returns the origin, with what a name in other letters looks like and whether all the way can read the key."""
        scheme, _, rest = self.origin.partition("://")
        looks = ".".join(_in_letters(label) for label in rest.rpartition(":")[0].split("."))
        alike = "" if looks in rest else f" (looks like {looks})"
        return f"{self.origin}{alike}{' in clear text' if scheme == 'http' else ''}"


def _in_letters(label: str) -> str:
    try:
        return label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label
    except UnicodeError:
        return label


class Trusted(BaseModel):
    """One pair with when it was trusted and the registry that named it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    origin: str
    api_key_env: str
    trusted_at: AwareDatetime
    registry: str

    @property
    def pair(self) -> Pair:
        """Returns the host and the variable that are trusted together."""
        return Pair(self.origin, self.api_key_env)


class TrustFile(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trusted: tuple[Trusted, ...] = Field(())


def trust_file(settings: Settings) -> Path:
    """Returns PROMPTAUDIT_TRUST_FILE, else promptaudit/trusted.json in the user's configuration; links followed."""
    path = settings.trust_file
    if path is None:
        folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
        if not folder.is_absolute():  # a relative one does not count, says the XDG specification
            try:
                folder = Path.home() / ".config"
            except RuntimeError:
                msg = "no home folder to keep what is trusted in; set PROMPTAUDIT_TRUST_FILE"
                raise UsageError(msg) from None
        path = folder / "promptaudit" / "trusted.json"
    return Path(os.path.realpath(path))  # replacing the file leaves a link to it in place


def folder_name(registry: Path) -> str:
    """Returns a registry's folder as it is written down, wherever it was named from."""
    return str(registry.resolve()).encode("utf-8", "backslashreplace").decode()


def load(path: Path) -> dict[Pair, Trusted]:
    """Returns what is trusted, the oldest first; nothing where there is no file.

    Raises UsageError in one line for a file that is broken, cannot be read, or that others may write.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(msg) from None
    if mode & WRITABLE_BY_OTHERS and os.name == "posix":
        msg = f"{path}: others may write what you trust; look at it, then: chmod 600 {path}"
        raise UsageError(msg)
    try:
        content = TrustFile.model_validate_json(text)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        msg = f"{path}: {f'{place}: ' if place else ''}{first['msg']}; mend it, or delete it and trust again"
        raise UsageError(msg) from None
    return {trusted.pair: trusted for trusted in content.trusted}


def record(path: Path, pairs: Iterable[Pair], registry: Path) -> list[Pair]:
    """Adds what is new of `pairs` and returns it; what is there keeps its date."""
    with _changing(path) as known:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        for pair in new:
            known[pair] = Trusted(
                origin=pair.origin,
                api_key_env=pair.api_key_env,
                trusted_at=datetime.now(UTC).replace(microsecond=0),
                registry=folder_name(registry),
            )
    return new


def forget(path: Path, pairs: Iterable[Pair], registry: Path) -> list[Pair]:
    """Takes back `pairs` and whatever else was trusted for `registry`, also what its cards no longer name; returns it."""
    if not path.exists():
        return []
    named, folder = set(pairs), folder_name(registry)
    with _changing(path) as known:
        gone = [pair for pair, trusted in known.items() if pair in named or trusted.registry == folder]
        for pair in gone:
            del known[pair]
    return gone


@contextlib.contextmanager
def _changing(path: Path) -> Iterator[dict[Pair, Trusted]]:
    """Yields what is trusted, to change; writes it back in one move, while no other writer is between reading and writing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            before = load(path)
            after = dict(before)
            yield after
            if after != before:
                _replace(path, TrustFile(trusted=tuple(after.values())))
        finally:
            os.close(lock)
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror}"
        raise UsageError(msg) from None


def _replace(path: Path, content: TrustFile) -> None:
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # for its owner alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content.model_dump_json(indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
