"""Reads a file of cards: a YAML mapping with every scalar as its text, and the line of each field."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Container
from pathlib import Path
from typing import Any

import yaml

from promptaudit.registry.errors import CardError
from promptaudit.registry.mart_columns import yaml_loader
from promptaudit.registry.read_json import json_of

MAX_CARD_BYTES = 1_000_000
MAX_DEPTH = 30
MAX_VALUES = 50_000  # keys count too; each takes 1.5 kB and 50 µs until it is a card
LOADER = yaml_loader()
_ID = re.compile(r"""(?m)^(["']?)([^\s"'#:,&*!|>%@{}\[\]-][^"'\n]{0,199}?)\1 {0,9}:(?=\s|$)""")


Lines = dict[tuple[str | int, ...], int]


def read_yaml(path: Path, file: str) -> tuple[dict[str, Any], Lines, dict[str, CardError]]:
    """Reads a file's cards by id, the line of each path, and the faults.

    Scalars stay the text as written, an empty one None.

    A fault belongs to one id, whose card is left out: the id or a key in the card stands twice, or a key is no text.
    Raises CardError in one line for a file that is over 1 MB, no regular file, not UTF-8, malformed, no mapping, with
    aliases or with several documents.
    """
    node = _node_of(path, file)
    if node is None:
        return {}, {}, {}
    if not isinstance(node, yaml.MappingNode):
        msg = f"{file} line {node.start_mark.line + 1}: a card file is a mapping of id to card"
        raise CardError(msg)
    lines: Lines = {(): node.start_mark.line + 1}
    faults: dict[str, CardError] = {}
    cards: dict[str, Any] = {}
    for key, value in node.value:
        name = _text_of(key, file)
        try:
            _refuse_second(name, ChainMap(cards, faults), key, file)
            lines[name,] = key.start_mark.line + 1
            cards[name] = _built(value, (name,), lines, file)
        except CardError as error:
            faults.setdefault(name, error)
    return {name: card for name, card in cards.items() if name not in faults}, lines, faults


def read_value(path: Path, file: str) -> Any:
    """Reads a YAML file, or JSON if its name ends so. YAML's scalars and JSON's numbers stay text.

    Raises CardError or DataError in one line for a file that cannot be read, as `read_yaml` and `json_of` do.
    """
    if path.suffix.lower() == ".json":
        return json_of(bounded(path, file), file, as_written=True)
    node = _node_of(path, file)
    return None if node is None else _built(node, (), {}, file)


def _node_of(path: Path, file: str) -> yaml.Node | None:
    # None for an empty file
    raw = bounded(path, file)
    try:
        text = raw.decode("utf-8")
        _refuse_tricks(text, file)
        return yaml.compose(text, Loader=LOADER)
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


def bounded(path: Path, file: str) -> bytes:
    """Reads a file's bytes; raises CardError for more than MAX_CARD_BYTES."""
    raw = _read(path, file)
    if len(raw) > MAX_CARD_BYTES:
        msg = f"{file}: too large: a card file holds at most {MAX_CARD_BYTES} bytes"
        raise CardError(msg)
    return raw


def _read(path: Path, file: str) -> bytes:
    # one byte more than a card file may have shows that the file is too large
    if path.exists() and not path.is_file():  # a pipe would be waited for
        msg = f"{file}: cannot be read: it is no regular file"
        raise CardError(msg)
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_CARD_BYTES + 1)
    except OSError as error:
        msg = f"{file}: cannot be read: {error.strerror}"
        raise CardError(msg) from None


def ids_in(path: Path) -> tuple[str, ...]:
    """Guesses the ids of cards in a file that is not valid YAML: the keys at the beginning of its lines."""
    if not path.is_file():
        return ()
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CARD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(dict.fromkeys(match[2].strip() for match in _ID.finditer(text)))


def _refuse_tricks(text: str, file: str) -> None:
    # refuses early what takes much memory or time: aliases, nesting (quadratic time), and more values than cards have
    depth = n_values = 0
    for event in yaml.parse(text, Loader=LOADER):
        n_values += isinstance(event, yaml.NodeEvent)
        if n_values > MAX_VALUES:
            msg = f"{file} line {_line(event)}: more than {MAX_VALUES:,} values, at most so many stand in a card file"
            raise CardError(msg)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            msg = f"{file} line {_line(event)}: nested deeper than {MAX_DEPTH}"
            raise CardError(msg)
        if isinstance(event, yaml.AliasEvent):
            msg = f"{file} line {_line(event)}: aliases are refused; write the value out"
            raise CardError(msg)


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def _text_of(key: yaml.Node, file: str) -> str:
    if not isinstance(key, yaml.ScalarNode):
        msg = f"{file} line {key.start_mark.line + 1}: a key must be text"
        raise CardError(msg)
    return str(key.value)


def _refuse_second(name: str, known: Container[str], key: yaml.Node, file: str) -> None:
    if name in known:
        msg = f"{file} line {key.start_mark.line + 1}: key '{name}' stands twice"
        raise CardError(msg)


def _built(node: yaml.Node, path: tuple[str | int, ...], lines: Lines, file: str) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return None if node.value == "" and node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_built(item, (*path, index), lines, file) for index, item in enumerate(node.value)]
    built: dict[str, Any] = {}
    for key, value in node.value:
        name = _text_of(key, file)
        _refuse_second(name, built, key, file)
        lines[(*path, name)] = key.start_mark.line + 1
        built[name] = _built(value, (*path, name), lines, file)
    return built
