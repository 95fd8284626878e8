"""Keeps the file of what a user trusts, and since when.

A user trusts hosts that cards of others may send the value of a key variable to, and code that cards name.

The file is private to its owner. Writers take turns and read before they write, so that none loses what another
recorded.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from promptaudit.registry.errors import UsageError
from promptaudit.registry.own_code import Code, Use
from promptaudit.system.files import writing
from promptaudit.system.settings import Settings

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; the replacement is still all or nothing
    fcntl = None  # type: ignore[assignment]

WRITABLE_BY_OTHERS = 0o022
P = TypeVar("P", bound="Pair | Code")


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Where a request goes, `scheme://host:port` in its one spelling, and the variable whose value goes with it."""

    origin: str
    api_key_env: str

    def __str__(self) -> str:
        """Shows the origin, what a name in other letters looks like, and whether the key travels in clear text."""
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
        """Joins the host and the variable that are trusted together."""
        return Pair(self.origin, self.api_key_env)


class TrustedCode(BaseModel):
    """Code that a card names, with when it was trusted and the registry that named it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: Use
    name: str
    place: str | None
    sha256: str | None
    folder_sha256: str | None = None
    environment: tuple[str, ...] = ()
    trusted_at: AwareDatetime
    registry: str

    @property
    def code(self) -> Code:
        """Makes the code that is trusted from the entry."""
        return Code(**{name: getattr(self, name) for name in Code.__dataclass_fields__})


class TrustFile(BaseModel):
    """The content of the file. Files written before code could be trusted have no `code`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trusted: tuple[Trusted, ...] = Field(())
    code: tuple[TrustedCode, ...] = Field(())


Known = dict[Pair | Code, Trusted | TrustedCode]
"""Everything that is trusted, by what it is."""


def trust_file(settings: Settings) -> Path:
    """Finds the path of the file: PROMPTAUDIT_TRUST_FILE, else promptaudit/trusted.json in the user's configuration.

    Links are followed. Raises UsageError where there is neither a variable nor a home folder.
    """
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
    """Writes a registry's folder as an absolute path, the same wherever it was named from."""
    return str(registry.resolve()).encode("utf-8", "backslashreplace").decode()


def key_of(code: Code) -> Code:
    """Removes the sha256 of an installed module's code, trusted by name in any version. Other code stays as it is."""
    return replace(code, sha256=None) if code.place is None else code


def load(path: Path) -> Known:
    """Reads what is trusted: pairs before code, each the oldest first. Empty if there is no file.

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
    pairs: Known = {trusted.pair: trusted for trusted in content.trusted}
    return pairs | {trusted.code: trusted for trusted in content.code}


def record(path: Path, wanted: Iterable[P], registry: Path) -> list[P]:
    """Adds what is new of pairs and code, and returns it; what is there keeps its date."""
    with _changing(path) as known:
        new = [each for each in dict.fromkeys(wanted) if each not in known]
        for each in new:
            known[each] = _trusted_now(each, folder_name(registry))
    return new


def _trusted_now(each: Pair | Code, registry: str) -> Trusted | TrustedCode:
    fields = {name: getattr(each, name) for name in each.__dataclass_fields__}
    fields |= {"trusted_at": datetime.now(UTC).replace(microsecond=0), "registry": registry}
    return Trusted(**fields) if isinstance(each, Pair) else TrustedCode(**fields)


def forget(path: Path, wanted: Iterable[Pair | Code], registry: Path) -> list[Pair | Code]:
    """Takes back pairs and code and everything else that was trusted for `registry`, and gives what was taken back.

    That includes what the registry's cards no longer name.
    """
    if not path.exists():
        return []
    named, folder = set(wanted), folder_name(registry)
    with _changing(path) as known:
        gone = [each for each, trusted in known.items() if each in named or trusted.registry == folder]
        for each in gone:
            del known[each]
    return gone


@contextlib.contextmanager
def _changing(path: Path) -> Iterator[Known]:
    # the file is replaced in one move, and no other writer comes between reading and writing
    with writing(path, kind=UsageError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            before = load(path)
            after = dict(before)
            yield after
            if after != before:
                trusted = tuple(each for each in after.values() if isinstance(each, Trusted))
                code = tuple(each for each in after.values() if isinstance(each, TrustedCode))
                _replace(path, TrustFile(trusted=trusted, code=code))
        finally:
            os.close(lock)


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
