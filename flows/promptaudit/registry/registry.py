"""Loads folders of cards into a `Registry`: lookups, near misses, and the fingerprint of the cards that a run used."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptaudit.registry.card_faults import card_of, place_of
from promptaudit.registry.cards import (
    AuditCard,
    Card,
    JudgeCard,
    ModelCard,
    RephraserCard,
    TaskCard,
    TemplateCard,
)
from promptaudit.registry.errors import CardError, PromptauditError, UnknownCard, nearest, raise_all
from promptaudit.registry.expectation_suites import read_suite
from promptaudit.registry.own_code import Code, CodeFinder, with_sha256
from promptaudit.registry.read_yaml import Lines, ids_in, read_yaml
from promptaudit.registry.shipped import shipped

SHIPPED = shipped("models_registry")
KINDS: Mapping[str, type[Card]] = {
    "models": ModelCard,
    "tasks": TaskCard,
    "templates": TemplateCard,
    "rephrasers": RephraserCard,
    "judges": JudgeCard,
    "audits": AuditCard,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A card with its registry's root, its file below that root, the lines of its fields and the code that it names."""

    card: Card
    root: Path
    file: str
    lines: Mapping[tuple[str | int, ...], int]
    code: Code | None = None

    def where(self, *path: str | int) -> str:
        """Gives `file line n` of the field at `path`, or of the nearest thing around it."""
        return place_of(self.file, self.lines, *path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The errors of cards of one kind, with the cards' ids. `names` is empty if no id could be read from the file."""

    kind: str
    names: tuple[str, ...]
    errors: tuple[PromptauditError, ...]

    def is_of(self, kind: str, name: str) -> bool:
        """Checks whether the fault belongs to the card of that id, or to a card whose grid has a point of that id."""
        is_point = "=" in name and any(name.startswith(f"{each} ") for each in self.names)
        return kind == self.kind and (name in self.names or is_point)


@dataclass(frozen=True, slots=True)
class Registry:
    """The sound cards by kind and id.

    A later folder's card wins over an earlier one of the same id, even if it is faulty.
    """

    entries: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    roots: tuple[Path, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def errors(self) -> list[PromptauditError]:
        """Lists all errors of its cards."""
        return [error for fault in self.faults for error in fault.errors]

    def names(self, kind: str) -> set[str]:
        """Collects the ids of a kind's cards, including the faulty ones."""
        return {
            *self.entries.get(kind, {}),
            *(name for fault in self.faults if fault.kind == kind for name in fault.names),
        }

    def find(self, kind: str, name: str) -> Entry | None:
        """Looks up the card `name` of `kind`, None if there is none; raises the errors of a faulty one."""
        known = self.entries.get(kind, {})
        if name not in known:
            raise_all(error for fault in self.faults if fault.is_of(kind, name) for error in fault.errors)
        return known.get(name)

    def entry(self, kind: str, name: str, asked_by: str = "") -> Entry:
        """Looks up the card `name` of `kind`, which has to exist.

        Raises the errors of a faulty card. If there is no such card, it raises the errors of unreadable files of that
        kind, which may hold it, else UnknownCard with the nearest name.
        """
        entry = self.find(kind, name)
        if entry is not None:
            return entry
        by = f" in {asked_by}" if asked_by else ""
        asked = f"{kind[:-1]} '{name}'{by}"
        unread = [error for fault in self.faults if fault.kind == kind and not fault.names for error in fault.errors]
        raise_all(CardError(f"{str(error).partition(': ')[2]}; {asked} may stand there") for error in unread)
        msg = f"{asked}{nearest(name, self.entries.get(kind, {}))}"
        raise UnknownCard(msg)

    def model(self, name: str) -> ModelCard:
        """Looks up the model card of that id; raises UnknownCard."""
        return self.entry("models", name).card  # type: ignore[return-value]

    def task(self, name: str) -> TaskCard:
        """Looks up the task card of that id; raises UnknownCard."""
        return self.entry("tasks", name).card  # type: ignore[return-value]

    def rephraser(self, name: str) -> RephraserCard:
        """Looks up the rephraser card of that id; raises UnknownCard."""
        return self.entry("rephrasers", name).card  # type: ignore[return-value]

    def templates(self, name: str) -> TemplateCard:
        """Looks up the template card of that id; raises UnknownCard."""
        return self.entry("templates", name).card  # type: ignore[return-value]

    def judge(self, name: str) -> JudgeCard:
        """Looks up the judge card of that id; raises UnknownCard."""
        return self.entry("judges", name).card  # type: ignore[return-value]

    def audit(self, name: str) -> AuditCard:
        """Looks up the audit card of that id; raises UnknownCard."""
        return self.entry("audits", name).card  # type: ignore[return-value]

    def models_of(self, audit_id: str) -> tuple[str, ...]:
        """Lists the models that an audit asks. A card with a grid counts as one model per point."""
        return tuple(point for name in self.audit(audit_id).models for point in self._points_of(name))

    def _points_of(self, name: str) -> list[str]:
        entry = self.entries.get("models", {}).get(name)
        grid = entry.card.grid if entry is not None and isinstance(entry.card, ModelCard) else None
        return [name] if grid is None else [point_name(name, point) for point in grid.points()]

    def data_root(self, task_id: str) -> Path:
        """Finds the folder that a task's data path starts from: its card's, or the last registry that has the file.

        So a shipped card whose data does not ship finds its data in a registry of the user's.
        """
        entry = self.entry("tasks", task_id)
        path = self.task(task_id).data.path
        if path is None or (entry.root / path).exists():
            return entry.root
        return next((root for root in reversed(self.roots) if (root / path).exists()), entry.root)

    def used_by(self, audit_id: str) -> dict[str, dict[str, Entry]]:
        """Collects every card that an audit reaches, itself included, by kind and id.

        Raises CardError for cards that are named and cannot be reached.
        """
        used, errors = self.reached_by(audit_id)
        raise_all(errors)
        return used

    def reached_by(self, audit_id: str) -> tuple[dict[str, dict[str, Entry]], list[PromptauditError]]:
        """Collects every card that an audit reaches, itself included, by kind and id, and the errors of missing cards.

        Raises UnknownCard if the audit itself does not exist.
        """
        used: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        used["audits"][audit_id] = self.entry("audits", audit_id)
        errors: list[PromptauditError] = []
        named = [("audits", *each) for each in self._named_by_audit(audit_id)]
        while named:
            by_kind, kind, name, where = named.pop(0)
            try:
                entry = self._reached(by_kind, kind, name, where)
            except PromptauditError as error:
                errors += error.errors
                continue
            if name not in used[kind]:
                used[kind][name] = entry
                named[:0] = [(kind, *each) for each in _named_by(name, entry)]
        return used, errors

    def _named_by_audit(self, audit_id: str) -> Iterator[tuple[str, str, str]]:
        # kind and id of every card that an audit names, and the place that names it
        audit, where = self.audit(audit_id), self.entry("audits", audit_id).where
        for kind in ("tasks", "judges"):
            for index, name in enumerate(getattr(audit, kind)):
                yield kind, name, where(audit_id, kind, index)
        for index, name in enumerate(audit.models):
            for point in self._points_of(name):
                yield "models", point, where(audit_id, "models", index)
        if audit.rephrasing is not None and audit.rephrasing.rephraser is not None:
            yield "rephrasers", audit.rephrasing.rephraser, where(audit_id, "rephrasing", "rephraser")
        if audit.rephrasing is not None and audit.rephrasing.meaning is not None:
            yield "judges", audit.rephrasing.meaning, where(audit_id, "rephrasing", "meaning")

    def _reached(self, by_kind: str, kind: str, name: str, where: str) -> Entry:
        # raises CardError if the card cannot serve the card of `by_kind` that names it
        entry = self.entry(kind, name, where)
        if isinstance(entry.card, ModelCard):
            if entry.card.grid is not None:
                first = point_name(name, entry.card.grid.points()[0])
                msg = f"{where}: '{name}' is a grid of models; name one of them, such as '{first}'"
                raise CardError(msg)
            if by_kind in ("rephrasers", "judges") and entry.card.engine == "batch":
                msg = f"{where}: that model answers in batches; a {by_kind[:-1]} asks one that answers at once"
                raise CardError(msg)
        return entry

    def fingerprint(self, audit_id: str) -> str:
        """Hashes every card that the audit reaches, to 16 hex digits."""
        used = {
            f"{kind}/{name}": entry.card.fingerprint()
            for kind, entries in self.used_by(audit_id).items()
            for name, entry in entries.items()
        }
        return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()[:16]


def load_registry(paths: Sequence[Path] = ()) -> Registry:
    """Reads the cards as `read_registry` does; raises CardError with every error of every card at once."""
    registry = read_registry(paths)
    raise_all(registry.errors)
    return registry


def read_registry(paths: Sequence[Path] = ()) -> Registry:
    """Reads the shipped cards and the cards of each folder in `paths`. Faulty cards are left out and their errors kept.

    A faulty card of a later folder also hides the sound one of the same id in an earlier one, which nobody asked for.
    Raises CardError if a path is no folder.
    """
    entries: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
    faults: list[Fault] = []
    for root in (SHIPPED, *paths):
        if not root.is_dir():
            msg = f"registry {root} is no folder"
            raise CardError(msg)
        cards, found = _shipped() if root == SHIPPED else _read_folder(root)
        for kind, name, entry in cards:
            _hide(entries[kind], name)
            entries[kind][name] = entry
            for point_id, point in _points(name, entry):
                if point_id in entries[kind] and entries[kind][point_id].root == root:
                    error = CardError(f"{entry.where(name, 'grid')}: '{point_id}' is the id of another card")
                    found = (*found, Fault(kind=kind, names=(point_id,), errors=(error,)))
                    continue
                entries[kind][point_id] = point
        for fault in found:
            for name in fault.names:
                _hide(entries[fault.kind], name)
        faults += found
    return Registry(entries, (SHIPPED, *paths), tuple(faults))


FolderCards = tuple[tuple[tuple[str, str, Entry], ...], tuple[Fault, ...]]
"""The sound cards of a folder, each with its kind and id, and the faults of the others."""


@functools.cache
def _shipped() -> FolderCards:
    # the shipped cards stay the same as long as the process lives
    return _read_folder(SHIPPED)


def _read_folder(root: Path) -> FolderCards:
    finder = CodeFinder(root)
    faults: list[Fault] = []
    cards = [(kind, name, entry) for kind in KINDS for name, entry in _load_folder(root, kind, finder, faults)]
    return tuple(cards), tuple(faults)


def _hide(entries: dict[str, Entry], name: str) -> None:
    # the points of its grid go too
    entry = entries.pop(name, None)
    for point_id, _ in () if entry is None else _points(name, entry):
        entries.pop(point_id, None)


def _named_by(name: str, entry: Entry) -> Iterator[tuple[str, str, str]]:
    # kind and id of every card that a card names, and the place that names it
    card = entry.card
    if isinstance(card, ModelCard) and card.of is not None:
        yield "models", card.of, entry.where(name, "of")
    if isinstance(card, TaskCard) and card.templates is not None:
        yield "templates", card.templates, entry.where(name, "templates")
    is_self = isinstance(card, RephraserCard) and card.is_self
    if isinstance(card, RephraserCard | JudgeCard) and card.model is not None and not is_self:
        yield "models", card.model, entry.where(name, "model")
    if isinstance(card, JudgeCard):
        for index, member in enumerate(card.panel):
            yield "judges", member, entry.where(name, "panel", index)


def point_name(name: str, point: Mapping[str, float]) -> str:
    """Builds the id of a model card at one point of its grid: `name temperature=0.5 top_p=0.9`."""
    return " ".join([name, *(f"{parameter}={value:.15g}" for parameter, value in point.items())])


def _points(name: str, entry: Entry) -> Iterable[tuple[str, Entry]]:
    card = entry.card
    if not isinstance(card, ModelCard) or card.grid is None:
        return
    for point in card.grid.points():
        point_id = point_name(name, point)
        lines = {(point_id, *path[1:]): line for path, line in entry.lines.items() if path[:1] == (name,)}
        yield point_id, Entry(card.at(point), entry.root, entry.file, lines, entry.code)


def _load_folder(root: Path, kind: str, finder: CodeFinder, faults: list[Fault]) -> Iterable[tuple[str, Entry]]:
    # sound cards are yielded, the errors of the others are added to `faults`
    seen: dict[str, str] = {}

    def add(error: PromptauditError, *names: str) -> None:
        faults.append(Fault(kind=kind, names=names, errors=error.errors))

    for path in sorted([*root.glob(f"{kind}/**/*.yml"), *root.glob(f"{kind}/**/*.yaml")]):
        file = path.relative_to(root).as_posix()
        if not path.resolve().is_relative_to(root.resolve()):
            add(CardError(f"{file} leaves the registry {root}"))
            continue
        try:
            document, lines, faulty = read_yaml(path, file)
        except CardError as error:
            add(error, *ids_in(path))
            continue
        for name, fault in faulty.items():
            add(fault, name)
            seen.setdefault(name, f"{file} line {lines[name,]}")
        for name, body in document.items():
            if name in seen:
                msg = f"{kind[:-1]} '{name}' in {file} line {lines[name,]} stands already in {seen[name]}"
                add(CardError(msg), name)
                continue
            seen[name] = f"{file} line {lines[name,]}"
            try:
                yield name, _entry_of(kind, name, body, file, lines, root, finder)
            except PromptauditError as error:
                add(error, name)


def _entry_of(kind: str, name: str, body: object, file: str, lines: Lines, root: Path, finder: CodeFinder) -> Entry:
    card = card_of(KINDS[kind], name, body, file, lines)
    try:
        code = finder.code_of(card)
    except CardError as error:
        where = f"{file} line {lines[name,]}: '{name}'"
        raise error.at(where) from None
    if isinstance(card, AuditCard) and card.format.expectations is not None:
        card = _with_suite(card, root, place_of(file, lines, name, "format", "expectations"))
    return Entry(card if code is None else with_sha256(card, code), root, file, lines, code)


def _with_suite(card: AuditCard, root: Path, where: str) -> AuditCard:
    # the suite replaces its file's name, so that a run keeps the expectations it was checked by
    named = card.format.expectations
    if not isinstance(named, str):
        msg = f"{where}: format.expectations: the name of a JSON file in the registry folder"
        raise CardError(msg)
    try:
        suite = read_suite(root, named)
    except CardError as error:
        place = f"{where}: format.expectations"
        raise error.at(place) from None
    return card.model_copy(update={"format": card.format.model_copy(update={"expectations": suite})})
