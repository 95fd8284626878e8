"""Finds the code that a card names: a function `module:function`, or a command. Nothing here runs or imports it.

A module is the file `module.py` in the card's registry folder, beside `models/` and `tasks/`; where there is none, an
installed module. The working directory is never looked at. A path in a command lies inside the registry folder, a bare
name is looked up on PATH. Code may use the other files of its folder, so it is trusted together with them.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Literal

from promptaudit.registry.base import Card
from promptaudit.registry.errors import CardError, nearest
from promptaudit.registry.model_cards import ModelCard
from promptaudit.registry.rephraser_cards import RephraserCard
from promptaudit.registry.task_cards import PythonReader, TaskCard

MOST_BYTES = 1_000_000  # of a file whose names are looked up
Use = Literal["model", "reader", "rephraser", "command"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Code:
    """The code that a card names.

    place: the file of a function, or the registry folder of a command; None: an installed module.
    sha256: of that file; of the files that a command may use, with the files elsewhere that it names; None without files.
    folder_sha256: of all files that it may use in the registry folder; None: an installed module.
    environment: the variables that a command is given beside those that every command is given.
    """

    use: Use
    name: str
    place: str | None
    sha256: str | None
    folder_sha256: str | None = None
    environment: tuple[str, ...] = ()

    @property
    def file(self) -> Path | None:
        """Names the file of a function. None for an installed module's function and for a command."""
        return None if self.place is None or self.use == "command" else Path(self.place)

    @property
    def folder(self) -> Path | None:
        """Names the registry folder whose files the code may use. None for an installed module's."""
        return None if self.place is None else Path(self.place) if self.use == "command" else Path(self.place).parent

    @property
    def named(self) -> frozenset[Path]:
        """Lists the files of the registry folder that a command names."""
        return self._files[0]

    @property
    def _files(self) -> tuple[frozenset[Path], list[Path]]:
        if self.use != "command" or self.place is None:
            return frozenset(), []
        return _files_of(tuple(shlex.split(self.name)), Path(self.place))

    def __str__(self) -> str:
        """Shows the code with its place to the person who is asked to trust it."""
        if self.use == "command":
            given = f", given {' and '.join(self.environment)}" if self.environment else ""
            try:
                elsewhere = " and ".join(map(str, self._files[1]))
            except CardError:  # a link of the folder leads out of it by now
                elsewhere = ""
            beside = f" (what lies beside {elsewhere} is not compared)" if elsewhere else ""
            return f"command '{self.name}' in {self.place}{given}{beside}"
        return f"code '{self.name}' of {self.place or 'an installed module'}"


class CodeFinder:
    """Finds the code that cards of a registry folder name.

    It computes the sha256 of the folder when the first card names code, and once more for each other set of files that
    commands name.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sha256: dict[frozenset[Path], str] = {}  # by the files that are never left out

    def code_of(self, card: Card) -> Code | None:
        """Finds the code that a card names, as it is now. None if the card names none.

        Raises CardError where the card has another sha256 of it, or the code cannot be read or leaves the registry.
        """
        named = _named(card)
        if named is None:
            return None
        try:
            code = self._found(card, *named[:2])
        except OSError as error:
            msg = f"its code cannot be read: {error.filename}: {error.strerror}"
            raise CardError(msg) from None
        if named[2] not in (None, code.sha256):
            msg = f"{code} has the sha256 {code.sha256}, and not {named[2]}"
            raise CardError(msg)
        return code

    def _found(self, card: Card, use: Use, name: str) -> Code:
        if isinstance(card, RephraserCard) and card.command is not None:
            folder = self._folder(_files_of(card.command, self._root)[0])
            return Code(
                use=use,
                name=name,
                place=str(self._root.resolve()),
                folder_sha256=folder,
                sha256=command_sha256(card.command, self._root, folder),
                environment=tuple(sorted(set(card.environment))),
            )
        file = _own_file(name, self._root)
        if file is None:
            _refuse_uncompared(name, self._root)
            return Code(use=use, name=name, place=None, sha256=installed_sha256(name))
        return Code(use=use, name=name, place=str(file), sha256=_digest([file]), folder_sha256=self._folder())

    def _folder(self, named: frozenset[Path] = frozenset()) -> str:
        if named not in self._sha256:
            from promptaudit.registry.code_folder import folder_sha256  # most registries name no code

            self._sha256[named] = folder_sha256(self._root, named)
        return self._sha256[named]


def with_sha256(card: Card, code: Code) -> Card:
    """Copies the card with the sha256 of the code it names, so that changed code makes another card of it."""
    update = {"code_sha256": code.sha256}
    if isinstance(card, TaskCard) and isinstance(card.reader, PythonReader):
        return card.model_copy(update={"reader": card.reader.model_copy(update=update)})
    return card.model_copy(update=update)


def command_sha256(command: tuple[str, ...], root: Path, folder_sha256: str | None) -> str | None:
    """Computes the sha256 of a command from its registry folder and the files elsewhere that it names.

    It is `folder_sha256` itself if the command names no file elsewhere.
    """
    elsewhere = _files_of(command, root)[1]
    return hashlib.sha256(f"{folder_sha256} {_digest(elsewhere)}".encode()).hexdigest() if elsewhere else folder_sha256


def installed_sha256(function: str) -> str | None:
    """Computes the sha256 of the file of an installed module's function. None if there is no such file."""
    file = _installed_file(function)
    return _digest([file]) if file is not None and file.is_file() else None


def problem_of(code: Code) -> str | None:
    """Explains why code cannot be called on this machine, as far as that shows without running it, else gives None."""
    if code.use == "command":
        program = shlex.split(code.name)[0]
        return None if program_of(program, Path(code.place or "")) else f"no program '{program}' {_where(program)}"
    module, _, function = code.name.partition(":")
    if code.file is None:
        return None if _spec_of(module) else f"no module '{module}.py' in the registry folder, and none is installed"
    try:
        names = _names_in(code.file)
    except (SyntaxError, ValueError) as error:
        return f"{code.file.name} is no Python: {error}"
    except (OSError, RecursionError, MemoryError):
        return f"{code.file.name} cannot be read"
    first = function.partition(".")[0]
    return None if names is None or first in names else f"{code.file.name} has no '{first}'{nearest(first, names)}"


def program_of(program: str, root: Path) -> str | None:
    """Finds the program of a command. None if it is not there.

    A relative path starts at the registry folder, and a bare name is looked up in PATH's absolute folders.
    """
    if "/" in program:
        return shutil.which(str(root / program))
    folders = [folder for folder in os.get_exec_path() if Path(folder).is_absolute()]
    return shutil.which(program, path=os.pathsep.join(folders)) if folders else None


def _digest(files: Iterable[Path]) -> str | None:
    # of several files the sha256 of their sha256s
    digests = []
    for path in files:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256("\n".join(digests).encode()).hexdigest() if len(digests) > 1 else next(iter(digests), None)


def _where(program: str) -> str:
    return "in the registry folder" if "/" in program and not program.startswith("/") else "on this machine"


def _named(card: Card) -> tuple[Use, str, str | None] | None:
    # its use, its name, and the sha256 that the card has of it
    if isinstance(card, ModelCard) and card.engine == "python":
        return "model", card.model, card.code_sha256
    if isinstance(card, TaskCard) and isinstance(card.reader, PythonReader):
        return "reader", card.reader.python, card.reader.code_sha256
    if isinstance(card, RephraserCard) and card.function is not None:
        return "rephraser", card.function, card.code_sha256
    if isinstance(card, RephraserCard) and card.command is not None:
        return "command", shlex.join(card.command), card.code_sha256
    return None


def _own_file(name: str, root: Path) -> Path | None:
    module = name.partition(":")[0]
    path = root / f"{module}.py"
    if "." in module or not path.is_file():
        return None
    _inside(path, root)
    return root.resolve() / path.name


def _refuse_uncompared(name: str, root: Path) -> None:
    # a module in the registry counts as installed if PYTHONPATH leads there
    file = _installed_file(name)
    if file is not None and file.is_relative_to(root.resolve()) and not file.is_relative_to(Path(sys.prefix).resolve()):
        place = file.relative_to(root.resolve())
        msg = f"'{name}' lies in {place}, and a function of a registry lies in a file beside its folders of cards"
        raise CardError(msg)


def _installed_file(function: str) -> Path | None:
    spec = _spec_of(function.partition(":")[0])
    return None if spec is None or not spec.has_location or spec.origin is None else Path(spec.origin).resolve()


def _files_of(command: tuple[str, ...], root: Path) -> tuple[frozenset[Path], list[Path]]:
    # in the registry, and elsewhere; a relative path that leaves the registry raises CardError
    inside, elsewhere = set(), []
    for index, word in enumerate(command):
        path = root / word
        is_on_path = index == 0 and "/" not in word
        if is_on_path or not os.path.isfile(path):  # noqa: PTH113 - a long argument is no file, and no error
            continue
        file = path.resolve() if Path(word).is_absolute() else _inside(path, root)
        if file.is_relative_to(root.resolve()):
            inside.add(file)
        else:
            elsewhere.append(file)
    return frozenset(inside), elsewhere


def _inside(path: Path, root: Path) -> Path:
    resolved = path.resolve()
    if not resolved.is_relative_to(root.resolve()):
        msg = f"'{path.relative_to(root)}' leaves the registry"
        raise CardError(msg)
    return resolved


def _spec_of(module: str) -> ModuleSpec | None:
    # imports neither the module nor the packages it is in
    here = Path.cwd()
    path = [each for each in sys.path if each and Path(each).resolve() != here]
    name, spec = "", None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        try:
            found = (find(name, path) for find in finders if find is not None)
            spec = next((each for each in found if each is not None), None)
        except ImportError:
            return None
        if spec is None:
            return None
        try:
            path = list(spec.submodule_search_locations or ())
        except KeyError:  # a package without __init__ inside another one looks up the other among imported modules
            path = [str(Path(each) / part) for each in path]
    return spec


def _names_in(file: Path) -> set[str] | None:
    # bound at the top level; None if only running the file would show them
    names: set[str] = set()
    if file.stat().st_size > MOST_BYTES:
        return None
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        elif not isinstance(node, ast.Expr):  # a condition, a loop, a try
            return None
    return None if "*" in names else names
