"""Loads functions of the user's own code.

The caller has made sure that the user trusts the code, and has made a private copy of its folder without compiled
files. A file is loaded by its path, under a private name, so that it takes no other module's place; its bytes are
compared with the trusted sha256, and these same bytes run. Other modules of the folder are found in the copy alone. An
installed module is imported, but not from the working directory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict

from promptaudit.udfs import TRUSTED_READERS

Function = Callable[..., Any]


class OwnCodeError(Exception):
    """Says in one line that a function cannot be called. The line may hold the message of the code's own error."""


class TrustedReader(TypedDict):
    """A reader that may be called: its JSON as it landed, and the arguments of `load_function` for its function."""

    reader: str
    function: str
    file: str | None
    sha256: str | None
    folder: str | None


def load_function(function: str, file: str | None, sha256: str | None, folder: str | None = None) -> Function:
    """Loads the function `module:function` from a file with this sha256, or from an installed module if `file` is None.

    `folder` is the original of the copied folder that the file lies in. Raises OwnCodeError where the file changed, the
    module cannot be run or imported, or has no such function.
    """
    name, _, attributes = function.partition(":")
    if file is not None and folder is not None:
        _use_copy(folder, str(Path(file).parent))
    try:
        loaded: Any = _installed(name) if file is None else _module_of(file, sha256)
    except OwnCodeError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a person's module raises
        msg = f"'{function}' cannot be loaded: {type(error).__name__}: {error}"
        raise OwnCodeError(msg) from None
    for attribute in attributes.split("."):
        loaded = getattr(loaded, attribute, None)
    if not callable(loaded):
        msg = f"{Path(file).name if file else name} has no function '{attributes}'"
        raise OwnCodeError(msg)
    return loaded  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=64)
def _module_of(file: str, sha256: str | None) -> ModuleType:
    try:
        source = Path(file).read_bytes()
    except OSError as error:
        msg = f"{Path(file).name} cannot be read: {error.strerror}"
        raise OwnCodeError(msg) from None
    if hashlib.sha256(source).hexdigest() != sha256:
        msg = f"{Path(file).name} changed since it was looked at"
        raise OwnCodeError(msg)
    name = f"promptaudit_own_{sha256[:16]}_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None:
        msg = f"{Path(file).name} is no Python file"
        raise OwnCodeError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what this module is for
    except BaseException:
        del sys.modules[name]
        raise
    return module


@functools.lru_cache(maxsize=64)
def _use_copy(folder: str, copy: str) -> None:
    # modules of the folder are imported from its copy, however the code put the folder on the path
    top, prefix = os.path.realpath(folder), os.path.realpath(sys.prefix)

    def in_copy(path: str) -> FileFinder:
        place = os.path.realpath(path)
        if not Path(place).is_relative_to(top) or Path(place).is_relative_to(prefix):
            raise ImportError
        return FileFinder(
            str(Path(copy, Path(place).relative_to(top))),
            (ExtensionFileLoader, EXTENSION_SUFFIXES),
            (SourceFileLoader, SOURCE_SUFFIXES),
        )

    sys.path_hooks.insert(0, in_copy)
    sys.path_importer_cache.clear()


def _installed(name: str) -> ModuleType:
    with _not_from_here():
        return importlib.import_module(name)


@contextlib.contextmanager
def _not_from_here() -> Iterator[None]:
    before, here = list(sys.path), Path.cwd()
    sys.path[:] = [each for each in before if each and Path(each).resolve() != here]
    try:
        yield
    finally:
        sys.path[:] = before


def load_readers(trusted: Sequence[TrustedReader]) -> dict[str, Function]:
    """Loads the functions of readers, by the JSON of each; raises OwnCodeError."""
    return {
        each["reader"]: load_function(each["function"], each["file"], each["sha256"], each["folder"])
        for each in trusted
    }


def readers_of_build() -> Mapping[str, Function]:
    """Loads the readers that this build may call: the ones that TRUSTED_READERS lists, none without it."""
    return _readers_of(os.environ.get(TRUSTED_READERS) or "[]")


@functools.lru_cache(maxsize=8)
def _readers_of(listed: str) -> Mapping[str, Function]:
    return load_readers(json.loads(listed))
