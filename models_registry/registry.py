"""Loads folders of cards into a `Registry`: lookups, near misses, the fingerprint of what a run used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from models_registry.base import Faults
from models_registry.cards import SELF, AuditCard, Card, JudgeCard, ModelCard, RephraserCard, TaskCard, TemplateCard
from models_registry.errors import CardError, PromptauditError, UnknownCard, nearest, raise_all
from models_registry.mart_columns import yaml_loader
from models_registry.own_code import with_sha256

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_CARD_BYTES = 1_000_000
MAX_ID = 200
MAX_DEPTH = 30
MAX_SHOWN = 60
SHIPPED = Path(__file__).parent
LOADER = yaml_loader()
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
    """A card and its place: its registry's root, its file relative to that, and the lines of its fields."""

    card: Card
    root: Path
    file: str
    lines: Mapping[tuple[str | int, ...], int]

    def where(self, *path: str | int) -> str:
        """Returns `file line n` of the field at `path`, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file} line {self.lines.get(path, 1)}"


@dataclass(frozen=True, slots=True)
class Registry:
    """The cards by kind and id; a later folder's card wins over an earlier one of the same id."""

    entries: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    roots: tuple[Path, ...] = ()

    def entry(self, kind: str, name: str, asked_by: str = "") -> Entry:
        """Returns the card `name` of `kind`; raises UnknownCard with the nearest name."""
        known = self.entries.get(kind, {})
        if name not in known:
            by = f" in {asked_by}" if asked_by else ""
            msg = f"{kind[:-1]} '{name}'{by}{nearest(name, known)}"
            raise UnknownCard(msg)
        return known[name]

    def model(self, name: str) -> ModelCard:
        """Returns the model card of that id; raises UnknownCard."""
        return self.entry("models", name).card  # type: ignore[return-value]

    def task(self, name: str) -> TaskCard:
        """Returns the task card of that id; raises UnknownCard."""
        return self.entry("tasks", name).card  # type: ignore[return-value]

    def rephraser(self, name: str) -> RephraserCard:
        """Returns the rephraser card of that id; raises UnknownCard."""
        return self.entry("rephrasers", name).card  # type: ignore[return-value]

    def templates(self, name: str) -> TemplateCard:
        """Returns the template card of that id; raises UnknownCard."""
        return self.entry("templates", name).card  # type: ignore[return-value]

    def judge(self, name: str) -> JudgeCard:
        """Returns the judge card of that id; raises UnknownCard."""
        return self.entry("judges", name).card  # type: ignore[return-value]

    def audit(self, name: str) -> AuditCard:
        """Returns the audit card of that id; raises UnknownCard."""
        return self.entry("audits", name).card  # type: ignore[return-value]

    def models_of(self, audit_id: str) -> tuple[str, ...]:
        """Returns the models an audit asks; a card with a grid stands for each of its points."""
        return tuple(point for name in self.audit(audit_id).models for point in self._points_of(name))

    def _points_of(self, name: str) -> list[str]:
        entry = self.entries.get("models", {}).get(name)
        grid = entry.card.grid if entry is not None and isinstance(entry.card, ModelCard) else None
        return [name] if grid is None else [point_name(name, point) for point in grid.points()]

    def data_root(self, task_id: str) -> Path:
        """Returns the folder a task's data path starts from: its card's, or the last registry that has the file.

        So a shipped card whose data does not ship finds them in a registry of the user's.
        """
        entry = self.entry("tasks", task_id)
        path = self.task(task_id).data.path
        if path is None or (entry.root / path).exists():
            return entry.root
        return next((root for root in reversed(self.roots) if (root / path).exists()), entry.root)

    def used_by(self, audit_id: str) -> dict[str, dict[str, Entry]]:
        """Returns every card an audit reaches, by kind and id, itself included; raises CardError where one cannot be reached."""
        used, errors = self.reached_by(audit_id)
        raise_all(errors)
        return used

    def reached_by(self, audit_id: str) -> tuple[dict[str, dict[str, Entry]], list[PromptauditError]]:
        """Returns every card an audit reaches, by kind and id, itself included, and an error for each name without a card.

        Raises UnknownCard where the audit itself is none.
        """
        used: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        used["audits"][audit_id] = self.entry("audits", audit_id)
        errors: list[PromptauditError] = []
        named = [("audits", *each) for each in self._named_by_audit(audit_id)]
        while named:
            by_kind, kind, name, where = named.pop(0)
            try:
                entry = self._reached(by_kind, kind, name, where)
            except CardError as error:
                errors.append(error)
                continue
            if name not in used[kind]:
                used[kind][name] = entry
                named[:0] = [(kind, *each) for each in _named_by(name, entry)]
        return used, errors

    def _named_by_audit(self, audit_id: str) -> Iterator[tuple[str, str, str]]:
        """Kind and id of every card that an audit names, and where it does."""
        audit, where = self.audit(audit_id), self.entry("audits", audit_id).where
        for kind in ("tasks", "judges"):
            for index, name in enumerate(getattr(audit, kind)):
                yield kind, name, where(audit_id, kind, index)
        for index, name in enumerate(audit.models):
            for point in self._points_of(name):
                yield "models", point, where(audit_id, "models", index)
        if audit.rephrasing is not None and audit.rephrasing.rephraser is not None:
            yield "rephrasers", audit.rephrasing.rephraser, where(audit_id, "rephrasing", "rephraser")

    def _reached(self, by_kind: str, kind: str, name: str, where: str) -> Entry:
        """The card that another one of `by_kind` names; raises CardError where it cannot serve it."""
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
        """Returns 16 hex digits over every card the audit reaches."""
        used = {
            f"{kind}/{name}": entry.card.fingerprint()
            for kind, entries in self.used_by(audit_id).items()
            for name, entry in entries.items()
        }
        return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()[:16]


def load_registry(paths: Sequence[Path] = ()) -> Registry:
    """Returns the shipped cards and those of each folder in `paths`; raises CardError, every error of every card at once."""
    entries: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
    errors: list[PromptauditError] = []
    for root in (SHIPPED, *paths):
        if not root.is_dir():
            msg = f"registry {root} is no folder"
            raise CardError(msg)
        for kind in KINDS:
            for name, entry in _load_folder(root, kind, errors):
                entries[kind][name] = entry
                for point_id, point in _points(name, entry):
                    if point_id in entries[kind] and entries[kind][point_id].root == root:
                        errors.append(CardError(f"{entry.where(name, 'grid')}: '{point_id}' is the id of another card"))
                        continue
                    entries[kind][point_id] = point
    raise_all(errors)
    return Registry(entries, (SHIPPED, *paths))


def _named_by(name: str, entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Kind and id of every card that a card names, and where it does."""
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
    """Returns the id of a model card at one point of its grid: `name temperature=0.5 top_p=0.9`."""
    return " ".join([name, *(f"{parameter}={value:.15g}" for parameter, value in point.items())])


def _points(name: str, entry: Entry) -> Iterable[tuple[str, Entry]]:
    card = entry.card
    if not isinstance(card, ModelCard) or card.grid is None:
        return
    for point in card.grid.points():
        point_id = point_name(name, point)
        lines = {(point_id, *path[1:]): line for path, line in entry.lines.items() if path[:1] == (name,)}
        yield point_id, Entry(card.at(point), entry.root, entry.file, lines)


def _load_folder(root: Path, kind: str, errors: list[PromptauditError]) -> Iterable[tuple[str, Entry]]:
    """The sound cards of one kind in a folder; what is wrong with the others is added to `errors`."""
    seen: dict[str, str] = {}
    for path in sorted([*root.glob(f"{kind}/**/*.yml"), *root.glob(f"{kind}/**/*.yaml")]):
        file = path.relative_to(root).as_posix()
        if not path.resolve().is_relative_to(root.resolve()):
            errors.append(CardError(f"{file} leaves the registry {root}"))
            continue
        try:
            document, lines = read_yaml(path, file)
        except CardError as error:
            errors.append(error)
            continue
        for name, body in document.items():
            if name in seen:
                msg = f"{kind[:-1]} '{name}' in {file} line {lines[name,]} stands already in {seen[name]}"
                errors.append(CardError(msg))
                continue
            seen[name] = f"{file} line {lines[name,]}"
            try:
                card = _validated(KINDS[kind], name, body, file, lines)
            except PromptauditError as error:
                errors += error.errors
                continue
            try:
                card = with_sha256(card, root)
            except CardError as error:
                errors.append(error.at(f"{file} line {lines[name,]}: '{name}'"))
            else:
                yield name, Entry(card, root, file, lines)


def _validated(kind: type[Card], name: str, body: Any, file: str, lines: Mapping[tuple[str | int, ...], int]) -> Card:
    entry = Entry(Card(), Path(), file, lines)
    where = entry.where
    if not name or len(name) > MAX_ID or not name.isprintable():
        msg = f"{where(name)}: a card's id is 1 to 200 printable characters, found {name!r}"
        raise CardError(msg)
    if kind is ModelCard and name == SELF:
        msg = f"{where(name)}: no model is called '{SELF}': in a rephraser's card it is each model that is asked"
        raise CardError(msg)
    if not isinstance(body, dict):
        msg = f"{where(name)}: card '{name}' must be a mapping of fields, found {_shown(body)}"
        raise CardError(msg)
    try:
        return kind.model_validate(body)
    except ValidationError as invalid:
        errors = _one_a_field(name, invalid.errors(include_url=False), lines)
    raise_all([CardError(line) for error in errors for line in _messages(kind, name, error, entry)])
    raise AssertionError  # there is at least one


def _one_a_field(
    name: str, errors: Iterable[ErrorDetails], lines: Mapping[tuple[str | int, ...], int]
) -> list[ErrorDetails]:
    """The most telling error of each field, and none of what is wrong only because a part of it is.

    A field of several forms has errors of each form.
    """
    of_field: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for error in errors:
        path = (name, *error["loc"])
        is_absent = error["type"] == "missing" and path[:-1] in lines
        while not is_absent and len(path) > 1 and path not in lines:
            path = path[:-1]
        of_field.setdefault(path, []).append(error)
    untelling = {"extra_forbidden": 1, "missing": 2, "literal_error": 2, "model_type": 3}
    wholes = {path[:length] for path in of_field for length in range(1, len(path))}
    return [
        min(same_field, key=lambda error: untelling.get(error["type"], 0))
        for path, same_field in of_field.items()
        if path not in wholes
    ]


def _messages(kind: type[Card], name: str, error: ErrorDetails, entry: Entry) -> list[str]:
    """What is wrong with a field, or all that the fields of a mapping demand of each other."""
    path: tuple[str | int, ...] = ()
    for index, part in enumerate(error["loc"], start=1):
        is_form = isinstance(part, str) and (name, *path, part) not in entry.lines  # its name stands in no file
        path += () if is_form and index < len(error["loc"]) else (part,)
    where = entry.where
    field_path = ".".join(str(part) for part in path)
    if error["type"] == "extra_forbidden":
        model = _model_at(kind, error["loc"][:-1])
        return [
            f"{where(name, *path)}: unknown field '{field_path}' of '{name}'{nearest(str(path[-1]), model.model_fields)}"
        ]
    if error["type"] == "missing":
        return [f"{where(name, *path)}: '{name}' needs the field '{field_path}'"]
    is_hidden = bool(
        {"base_url", "api_key_env", "notify_blocks"} & set(path)
    )  # where a key may have been put by mistake
    is_long = isinstance(error["input"], dict | list | tuple | Card)
    instead = "" if is_hidden or is_long else f", found {_shown(error['input'])}"
    cause = error.get("ctx", {}).get("error")
    texts = cause.messages if isinstance(cause, Faults) else [error["msg"].removeprefix("Value error, ")]
    return [f"{where(name, *path)}: {field_path or name}: {text}{instead}" for text in texts]


def _model_at(kind: type[Card], path: tuple[str | int, ...]) -> type[Card]:
    model = kind
    for part in path:
        annotation = getattr(model.model_fields.get(str(part)), "annotation", None)
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        cards = [candidate for candidate in candidates if isinstance(candidate, type) and issubclass(candidate, Card)]
        # of several forms the first: each has an error of its own, and the first one's is told
        model = next(iter(cards), model)
    return model


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def read_yaml(path: Path, file: str) -> tuple[dict[str, Any], dict[tuple[str | int, ...], int]]:
    """Returns a YAML mapping with every scalar as the text written (an empty one None), and the line of each path.

    Refused in one line: over 1 MB, not UTF-8, malformed, duplicate keys, aliases, more than one document.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        msg = f"{file}: cannot be read: {error.strerror}"
        raise CardError(msg) from None
    if len(raw) > MAX_CARD_BYTES:
        msg = f"{file}: {len(raw)} bytes, a card file holds at most {MAX_CARD_BYTES}"
        raise CardError(msg)
    try:
        text = raw.decode("utf-8")
        _refuse_tricks(text, file)
        node = yaml.compose(text, Loader=LOADER)
    except UnicodeDecodeError as error:
        msg = f"{file}: not UTF-8 text at byte {error.start}"
        raise CardError(msg) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f" line {mark.line + 1}"
        msg = f"{file}{line}: not YAML: {getattr(error, 'problem', None) or error}"
        raise CardError(msg) from None
    except RecursionError:
        msg = f"{file}: nested too deep"
        raise CardError(msg) from None
    if node is None:
        return {}, {}
    if not isinstance(node, yaml.MappingNode):
        msg = f"{file} line {node.start_mark.line + 1}: a card file is a mapping of id to card"
        raise CardError(msg)
    lines: dict[tuple[str | int, ...], int] = {}
    return _built(node, (), lines, file), lines


def _refuse_tricks(text: str, file: str) -> None:
    """Refuses aliases, which multiply, and nesting, which the scanner takes quadratic time for, while it is still shallow."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            msg = f"{file} line {_line(event)}: nested deeper than {MAX_DEPTH}"
            raise CardError(msg)
        if isinstance(event, yaml.AliasEvent):
            msg = f"{file} line {_line(event)}: aliases are refused; write the value out"
            raise CardError(msg)


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def _built(node: yaml.Node, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int], file: str) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return None if node.value == "" and node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_built(item, (*path, index), lines, file) for index, item in enumerate(node.value)]
    built: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            msg = f"{file} line {line}: a key must be text"
            raise CardError(msg)
        if key.value in built:
            msg = f"{file} line {line}: key '{key.value}' stands twice"
            raise CardError(msg)
        lines[(*path, key.value)] = line
        built[key.value] = _built(value, (*path, key.value), lines, file)
    return built
